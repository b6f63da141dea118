"""Print where the file is that `spark-submit` starts."""

from poolkeeper.cli.submitted import FILE

if __name__ == "__main__":
    print(FILE)
