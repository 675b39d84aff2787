package xdp

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// progRunLive is the part of union bpf_attr that BPF_PROG_RUN reads.
type progRunLive struct {
	programFD, returned            uint32
	dataSizeIn, dataSizeOut        uint32
	dataIn, dataOut                uint64
	repeat, duration               uint32
	contextSizeIn, contextSizeOut  uint32
	contextIn, contextOut          uint64
	flags, cpu, batchSize, padding uint32
}

const (
	bpfProgRun        = 10
	testXDPLiveFrames = 1 << 1
)

// run makes one BPF_PROG_RUN. It is not (*ebpf.Program).Run, which continues after a
// signal: a signal is how a run ends early.
func (r *progRunLive) run() error {
	_, _, errno := unix.Syscall(unix.SYS_BPF, bpfProgRun, uintptr(unsafe.Pointer(r)), unsafe.Sizeof(*r))
	if errno != 0 {
		return errno
	}
	return nil
}

// A run lasts for the whole trial: the kernel waits for two RCU grace periods before and
// after each, about ten milliseconds in which nothing is sent. During the run the kernel
// reschedules whenever a grace period needs it. Nothing in it counts beyond 32 bits.
const runRepeat = 1 << 31

// interrupt ends a run early. The Go runtime has a handler for it, which does nothing,
// and never sends it; every other signal is blocked on the thread.
const interrupt = unix.SIGIO

// sender drives one program on one core for one trial.
type sender struct {
	program int
	frame   []byte
	batch   uint32
	cpu     int
	netns   *os.File
	// realTime asks for RealTime scheduling.
	realTime bool
	// kept is what the program keeps for the thread. Its Idle rises while the program runs
	// and has nothing to send.
	kept *trafficTransmitter

	stopped atomic.Bool
	thread  atomic.Int64
	done    chan struct{}

	// stopwatch is nil where it would show nothing.
	stopwatch *stopwatch
	// stolen is how long the hypervisor held the core while the trial's frames were sent, timed whether the stopwatch knows it.
	stolen time.Duration
	timed  bool
	// others is how many packets of others the kernel took in on the core meanwhile.
	others float64

	// Valid once done is closed.
	err  error
	held held
	// waited is the part of held.waited that is certain: see Driver.waited.
	waited time.Duration
}

// start starts the thread.
func (s *sender) start() {
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		s.err = s.work()
	}()
}

// work runs on a separate thread, in the ports' namespace and on one CPU.
func (s *sender) work() error {
	runtime.LockOSThread()
	restore, err := s.settle()
	if err != nil {
		return err
	}
	before := readHeld()
	s.thread.Store(int64(unix.Gettid()))
	err = s.loop()
	s.thread.Store(0)
	after := readHeld()
	s.held = held{after.times - before.times, after.waited - before.waited, before.known && after.known}
	// A thread that cannot be reset stays locked and ends with its goroutine.
	if failed := restore(); failed != nil {
		return errors.Join(err, failed)
	}
	runtime.UnlockOSThread()
	return err
}

// settle moves the calling thread to its place; restore undoes it.
func (s *sender) settle() (restore func() error, err error) {
	leave, err := enterNetNS(s.netns)
	if err != nil {
		return nil, err
	}
	var all, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return nil, fmt.Errorf("reading the transmit thread's CPUs: %w", err)
	}
	only.Set(s.cpu)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return nil, fmt.Errorf("pinning the transmit thread to CPU %d: %w", s.cpu, err)
	}
	var before unix.Sigset_t
	mask := allBut(interrupt, unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP)
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &mask, &before); err != nil {
		return nil, fmt.Errorf("masking signals: %w", err)
	}
	fair := func() error { return nil }
	if s.realTime {
		if fair, err = becomeRealTime(); err != nil {
			return nil, err
		}
	}
	return func() error {
		return errors.Join(
			fair(),
			unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil),
			unix.SchedSetaffinity(0, &all),
			leave(),
		)
	}, nil
}

func allBut(signals ...unix.Signal) (set unix.Sigset_t) {
	for i := range set.Val {
		set.Val[i] = ^set.Val[i]
	}
	word := int(8 * unsafe.Sizeof(set.Val[0]))
	for _, s := range signals {
		set.Val[int(s-1)/word] &^= 1 << (int(s-1) % word)
	}
	return set
}

// request returns what the kernel is asked for; the frame must stay pinned.
func (s *sender) request(repeat uint32) *progRunLive {
	return &progRunLive{
		programFD:  uint32(s.program),
		dataSizeIn: uint32(len(s.frame)),
		dataIn:     uint64(uintptr(unsafe.Pointer(&s.frame[0]))),
		repeat:     repeat,
		flags:      testXDPLiveFrames,
		batchSize:  s.batch,
	}
}

// once runs the program a single time on the calling thread.
func (s *sender) once() error {
	var pins runtime.Pinner
	defer pins.Unpin()
	pins.Pin(&s.frame[0])
	err := s.request(1).run()
	if err == unix.EINTR {
		return nil
	}
	return err
}

func (s *sender) loop() error {
	var pins runtime.Pinner
	defer pins.Unpin()
	pins.Pin(&s.frame[0])
	attr := s.request(runRepeat)
	for !s.stopped.Load() {
		if err := attr.run(); err != nil && err != unix.EINTR {
			return fmt.Errorf("running the transmit program: %w", err)
		}
	}
	return nil
}

// running reports whether the program has begun to run.
func (s *sender) running() bool { return atomic.LoadUint64(&s.kept.Idle) > 0 }

// stop ends the thread's work. It repeats the signal: the first may come before the run
// that it has to end.
func (s *sender) stop() {
	s.stopped.Store(true)
	for {
		if thread := s.thread.Load(); thread != 0 {
			_ = unix.Tgkill(os.Getpid(), int(thread), interrupt)
		}
		select {
		case <-s.done:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func openNetNS() (*os.File, error) {
	return os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
}

// enterNetNS moves the calling thread, if it is not there already: in a pod all threads
// are, and may not move.
func enterNetNS(ns *os.File) (leave func() error, err error) {
	current, err := openNetNS()
	if err != nil {
		return nil, fmt.Errorf("opening the thread's network namespace: %w", err)
	}
	here, err := current.Stat()
	if err != nil {
		return nil, errors.Join(err, current.Close())
	}
	there, err := ns.Stat()
	if err != nil {
		return nil, errors.Join(err, current.Close())
	}
	if os.SameFile(here, there) {
		return current.Close, nil
	}
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, errors.Join(fmt.Errorf("entering the ports' network namespace: %w", err), current.Close())
	}
	return func() error {
		return errors.Join(unix.Setns(int(current.Fd()), unix.CLONE_NEWNET), current.Close())
	}, nil
}
