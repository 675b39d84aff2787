//go:build linux

package guest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/safchain/ethtool"

	"vnfbench.io/operator/internal/guest/modules"
	"vnfbench.io/operator/internal/vnf"
	"vnfbench.io/operator/internal/vnf/agent"
	"vnfbench.io/operator/internal/vnf/cpu"
	"vnfbench.io/operator/internal/vnf/kernel"
)

const (
	// cardPatience covers drivers that make their interfaces in the background.
	cardPatience = 10 * time.Second
	cardInterval = 50 * time.Millisecond
	// watchRetry is the wait before the kernel's messages are subscribed to
	// anew.
	watchRetry = time.Second
)

// Run is the second process: it makes the machine a network function and tells
// how it is, until the context ends or the power button is pushed. failed, when
// set, is why the process before it ended: then it tells that and does nothing
// else.
//
// Whatever fails is told on the console and at /readyz; only what makes telling
// impossible is returned.
func Run(ctx context.Context, failed string, log *slog.Logger) error {
	started := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	release, err := modules.Release()
	if err != nil {
		return err
	}
	log.Info("kernel", "release", release, "processors", runtime.NumCPU())
	index, err := modules.Open()
	if err != nil {
		return err
	}
	// What a device refuses may be needed by nothing: what is missing in the
	// end says so itself.
	if err := loadDevices(index, log); err != nil {
		log.Warn("loading modules", "problem", err.Error())
	}
	watchPower(ctx, log, func() {
		log.Info("the power button was pushed")
		cancel()
	})
	meter, err := cpu.NewGuestMeter(os.DirFS("/"), time.Now)
	if err != nil {
		return err
	}
	userData, config, problem := configure(ctx, log)
	if failed != "" {
		problem = errors.New(failed)
	}
	var function *kernel.Function
	tell := agent.NewBroken(meter, started, log)
	if config != nil {
		log = log.With("name", config.Name)
		log.Info("starting", "function", config.Function, "configurationDigest", config.Digest())
		if err := loadCiphers(index, config, log); err != nil {
			log.Warn("loading modules", "problem", err.Error())
		}
		if err := loadFunction(index, config); err != nil {
			log.Warn("loading modules", "problem", err.Error())
		}
		function = kernel.New(config, KeysDirectory, log)
		tell = agent.New(config, function, meter, started, log)
	}
	macs := measuredMACs(userData)
	found, err := awaitCards(ctx, macs)
	if ctx.Err() != nil {
		return nil // the power button, while it was starting
	}
	if err != nil {
		return err
	}
	describe(found, macs, log)
	if chosen, ok := management(found, macs); ok {
		go serve(ctx, chosen, tell.Handler(), log)
	} else {
		log.Warn("no management interface: every network card is a port of the configuration, so nobody can ask this guest")
	}
	if problem == nil {
		problem = apply(config, function, found, log)
	}
	if problem != nil {
		tell.Fail(problem)
		<-ctx.Done()
		return nil
	}
	follow(ctx, function, tell, log)
	return nil
}

// follow watches a function that is configured. One that was ready and is not
// any more stays not ready, whatever the kernel says later.
func follow(ctx context.Context, function *kernel.Function, tell *agent.Agent, log *slog.Logger) {
	tell.Configured()
	go watch(ctx, function, tell, log)
	select {
	case <-ctx.Done():
	case err := <-tell.Lost():
		tell.Fail(fmt.Errorf("the function was ready and forwards no more: %s", strings.ReplaceAll(err.Error(), "\n", "; ")))
		<-ctx.Done()
	}
}

// loadDevices loads what the machine's devices need, and what makes the files
// that button presses are read from; no device asks for that.
func loadDevices(index *modules.Index, log *slog.Logger) error {
	loaded, err := index.Devices(os.DirFS("/sys"))
	_, buttons := index.Load("evdev")
	log.Info("modules for this machine's devices", "modules", strings.Join(loaded, " "))
	return errors.Join(err, buttons)
}

// loadCiphers loads the processor's accelerated ciphers, as a distribution does
// at every start. The kernel tests each, which takes an emulated processor
// seconds, so a router goes without.
func loadCiphers(index *modules.Index, config *vnf.Config, log *slog.Logger) error {
	if config.Function == vnf.FunctionRouter {
		return nil
	}
	loaded, err := index.Processor(os.DirFS("/sys"))
	log.Info("modules for this machine's processor", "modules", strings.Join(loaded, " "))
	return err
}

// loadFunction loads what the kernel does not ask for itself.
func loadFunction(index *modules.Index, config *vnf.Config) error {
	var problems []error
	for _, name := range unasked(config) {
		if _, err := index.Load(name); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// unasked are the modules that a function needs and whose absence the kernel
// only tells: the file of TUN devices is made when their driver is loaded,
// x_tables answers nobody before it is there, and br_netfilter has nothing that
// asks for it.
func unasked(config *vnf.Config) []string {
	var names []string
	if g := config.Gateway; g != nil && g.Protocol == vnf.ProtocolWireGuard && g.Implementation != vnf.ImplementationKernel {
		names = append(names, "tun")
	}
	if f := config.Firewall; f != nil && f.Backend == vnf.BackendIptables && f.Mode != vnf.ModeNone {
		names = append(names, "ip_tables", "ip6_tables")
		if f.Forwarding == vnf.ForwardingBridged {
			names = append(names, "br_netfilter")
		}
	}
	return names
}

// configure reads the configuration. Without one, the problem says why, and
// userData is what was read.
func configure(ctx context.Context, log *slog.Logger) (userData []byte, config *vnf.Config, problem error) {
	userData, err := seed(ctx, log)
	if err != nil {
		return nil, nil, err
	}
	config, err = vnf.Parse(userData)
	if err != nil {
		return userData, nil, fmt.Errorf("user-data: %w", err)
	}
	if config.Gateway != nil {
		if err := awaitKeys(ctx, log); err != nil {
			return userData, nil, err
		}
	}
	return userData, config, nil
}

// awaitCards lists the network cards once those of the measured ports are there
// or enough time went by; what is missing then is told when it is applied.
func awaitCards(ctx context.Context, macs []string) ([]card, error) {
	deadline := time.Now().Add(cardPatience)
	for {
		found, err := cards()
		if err != nil || len(found) > 0 && len(missing(found, macs)) == 0 || time.Now().After(deadline) {
			return found, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(cardInterval):
		}
	}
}

// apply tunes the measured cards and puts the configuration into the kernel.
func apply(config *vnf.Config, function *kernel.Function, found []card, log *slog.Logger) error {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return fmt.Errorf("talking to network cards: %w", err)
	}
	defer tool.Close()
	for _, port := range config.Ports {
		i := slices.IndexFunc(found, func(c card) bool { return strings.EqualFold(c.MAC, port.MAC) })
		if i < 0 {
			continue // applying it says that there is none
		}
		queues, err := tune(tool, found[i].Interface, runtime.NumCPU())
		if err != nil {
			return fmt.Errorf("port %q: %w", port.Name, err)
		}
		log.Info("tuned", "port", port.Name, "interface", found[i].Interface, "queues", queues)
	}
	if err := function.Apply(); err != nil {
		return fmt.Errorf("applying the configuration: %w", err)
	}
	return nil
}

// describe says what each card is for.
func describe(found []card, macs []string, log *slog.Logger) {
	for _, c := range found {
		role := "management"
		if slices.Contains(macs, c.MAC) {
			role = "measured"
		}
		log.Info("network card", "interface", c.Interface, "mac", c.MAC, "driver", c.Driver, "role", role)
	}
}

// watch has the agent look whenever a link changed. Without the kernel's
// messages each call of /readyz still looks for itself.
func watch(ctx context.Context, function *kernel.Function, tell *agent.Agent, log *slog.Logger) {
	for {
		err := function.Watch(ctx, func() { _ = tell.Observe() })
		if ctx.Err() != nil {
			return
		}
		log.Warn("watching links again", "error", err.Error())
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchRetry):
		}
	}
}
