// kfake, franz-go's in-memory broker, as a process: `kfake PORT`, one broker on loopback.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	port, err := strconv.Atoi(os.Args[1])
	if err == nil {
		var cluster *kfake.Cluster
		cluster, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port))
		if err == nil {
			defer cluster.Close()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kfake:", err)
		os.Exit(1)
	}
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGINT, syscall.SIGTERM)
	<-ends
}
