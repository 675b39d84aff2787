//go:build linux

package server

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vnfbench.io/operator/internal/traffic/trex/zmtp"
)

// The test binary is also the server that it starts: under TRex's name it acts as the
// file behaviorFile in its working directory says.
const (
	behaviorFile = "behavior"
	// startedFile gets a line for each start: the process's number and arguments.
	startedFile = "started"
	// supervisorName is a program that starts a server and waits to be killed.
	supervisorName = "supervisor"

	answers     = "answers"
	answersLate = "answers late"
	diesAtOnce  = "dies at once"
	lacksLib    = "lacks a library"
	diesLater   = "dies at SIGUSR1"
	hangs       = "hangs"
	isSilent    = "is silent"
	ignores     = "ignores SIGINT"
	hasChild    = "has a child"

	lateBy = 300 * time.Millisecond
)

func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case programName, plainProgramName:
		os.Exit(fake())
	case supervisorName:
		os.Exit(supervise())
	}
	os.Exit(m.Run())
}

// fake acts as TRex's server, and returns its exit code.
func fake() int {
	content, err := os.ReadFile(behaviorFile)
	if err != nil {
		return 99
	}
	started, err := os.OpenFile(startedFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return 98
	}
	if _, err := fmt.Fprintf(started, "%d %s %s\n", os.Getpid(), strings.Join(os.Args[1:], " "), strings.Join(os.Environ(), " ")); err != nil {
		return 98
	}
	fmt.Println("Starting  TRex v3.08 please wait  ... ")
	fmt.Println("\x1b[31mport : 0\x1b[0m")
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, syscall.SIGINT)
	killed := make(chan os.Signal, 1)
	signal.Notify(killed, syscall.SIGUSR1)
	switch string(content) {
	case answersLate:
		time.Sleep(lateBy)
	case diesAtOnce:
		fmt.Fprintln(os.Stderr, " ERROR there is not enough huge-pages memory in your system")
		return 1
	case lacksLib:
		fmt.Fprintln(os.Stderr, "_t-rex-64: error while loading shared libraries: libzmq.so.5: cannot open shared object file")
		return 127
	case isSilent:
		<-interrupted
		return 0
	case hasChild:
		child := exec.Command("/proc/self/exe")
		child.Args[0] = "sleeper"
		child.Env = []string{sleeperVariable + "=1"}
		if err := child.Start(); err != nil {
			return 97
		}
		if _, err := fmt.Fprintf(started, "%d child\n", child.Process.Pid); err != nil {
			return 97
		}
	}
	for _, port := range []int{publisherPort, rpcPort} {
		listener, err := net.Listen("tcp", ":"+strconv.Itoa(port))
		if err != nil {
			fmt.Println(" ERROR can't bind to ZMQ socket", err)
			return 96
		}
		go serve(listener, string(content) == hangs)
	}
	switch string(content) {
	case ignores:
		for range interrupted {
			fmt.Println("not yet")
		}
	case diesLater:
		select {
		case <-killed:
			fmt.Println("Error: signal 11:")
			return 134
		case <-interrupted:
		}
		return 0
	}
	<-interrupted
	fmt.Println(" All cores stopped !! ")
	return 0
}

const sleeperVariable = "VNFBENCH_TEST_SLEEPER"

func init() {
	if os.Getenv(sleeperVariable) == "1" {
		signal.Ignore(syscall.SIGINT)
		time.Sleep(time.Minute)
		os.Exit(0)
	}
}

// serve answers every request with a result, or takes it and does nothing.
func serve(listener net.Listener, silent bool) {
	for {
		stream, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = stream.Close() }()
			ctx := context.Background()
			connection, err := zmtp.Accept(ctx, stream, 0)
			if err != nil {
				return
			}
			for {
				if _, err := connection.Receive(ctx); err != nil {
					return
				}
				if silent {
					continue
				}
				if err := connection.Send(ctx, []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)); err != nil {
					return
				}
			}
		}()
	}
}

// supervise starts a server in the given directory, and stays.
func supervise() int {
	c := fakeConfig(os.Args[1])
	if _, err := Start(context.Background(), c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("started")
	time.Sleep(time.Minute)
	return 0
}
