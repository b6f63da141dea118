// One program that is a whole Kubernetes control plane, for the tests.
//
// No distribution packages a current API server, and its parts share nearly all
// their code: built together they cost little more than one of them. The first
// argument says which part this process is, as in `control-plane etcd
// --data-dir ...`; a link to the program that has a part's name is that part.
// A process is never two of them: the commands of Kubernetes register flags
// and metrics in globals.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// A part runs with os.Args as if it were the program, and gives the exit code.
type part func() int

var parts = map[string]part{
	"etcd":                    etcd,
	"kube-apiserver":          command(apiserver.NewAPIServerCommand),
	"kube-controller-manager": command(controllers.NewControllerManagerCommand),
	"kube-scheduler":          command(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubectl":                 command(kubectl.NewDefaultKubectlCommand),
	"certificates":            certificates,
}

func main() {
	run, known := parts[filepath.Base(os.Args[0])]
	if !known && len(os.Args) > 1 {
		run, known = parts[os.Args[1]]
		os.Args = os.Args[1:]
	}
	if !known {
		names := strings.Join(slices.Sorted(maps.Keys(parts)), "|")
		fmt.Fprintf(os.Stderr, "usage: control-plane %s [arguments]\n", names)
		os.Exit(2)
	}
	os.Exit(run())
}

// command is a part that is a cobra command. The command is made only when it
// is to run: making one registers globals that another could not bear.
func command(newCommand func() *cobra.Command) part {
	return func() int { return cli.Run(newCommand()) }
}

// etcd ends the process itself when it fails.
func etcd() int {
	etcdmain.Main(os.Args)
	return 0
}
