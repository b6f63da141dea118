package oracle;

import java.lang.management.ManagementFactory;
import java.util.function.Supplier;

/** Processor seconds of this thread: the best of three, each on input made anew. */
public final class Timed {
    private static final int TIMES = 3;

    private Timed() {
    }

    public static double seconds(Supplier<Runnable> made) {
        long best = Long.MAX_VALUE;
        for (int time = 0; time < TIMES; time++) {
            Runnable run = made.get();
            long begin = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            run.run();
            long spent = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - begin;
            best = Math.min(best, spent);
        }
        return best / 1e9;
    }
}
