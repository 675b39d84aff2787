package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/xdp/testpath"
)

// trafgen counts what arrives while trafgen sends the same frames as fast as
// it can, from one process on the same core.
func (b *bench) trafgen(ctx context.Context, size int) (rate, error) {
	config, err := os.CreateTemp("", "trafgen-*.cfg")
	if err != nil {
		return rate{}, err
	}
	defer func() { _ = os.Remove(config.Name()) }()
	s := b.traffic.Streams[0]
	const headers = 14 + 20 + 8
	_, err = fmt.Fprintf(config, "{ eth(da=%s, sa=%s), ipv4(sa=%s, da=%s, ttl=64), udp(sp=%d, dp=%d), fill(0x00, %d) }\n",
		s.DestinationMAC, s.SourceMAC, s.SourceAddress, s.DestinationAddress, s.SourcePort, s.DestinationPort,
		size-measure.FrameCheckSequenceBytes-headers)
	if err := errors.Join(err, config.Close()); err != nil {
		return rate{}, err
	}
	var output strings.Builder
	command := exec.Command("taskset", "-c", strconv.Itoa(core),
		"trafgen", "--dev", testpath.West, "--conf", config.Name(), "--cpus", "1", "--num", "0", "--no-sock-mem")
	command.Stdout, command.Stderr = &output, &output
	// trafgen forks: its children end with their group only.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := testpath.Do(b.path.Generator, command.Start); err != nil {
		return rate{}, fmt.Errorf("starting trafgen: %w", err)
	}
	counted, err := b.count(command.Process.Pid)
	killed := syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	_ = command.Wait()
	if err := errors.Join(err, killed, ctx.Err()); err != nil {
		return rate{}, err
	}
	if counted.perSecond < 1 {
		return rate{}, fmt.Errorf("nothing of trafgen's arrived:\n%s", output.String())
	}
	return counted, nil
}
