package xdp

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/measure"
)

// ethtoolCoalesce is the kernel's ethtool_coalesce. The driver changes two of its fields.
type ethtoolCoalesce struct {
	command        uint32
	rxMicroseconds uint32
	_              [8]uint32
	adaptiveRx     uint32
	_              [12]uint32
}

const (
	ethtoolGetCoalesce = 0x0e
	ethtoolSetCoalesce = 0x0f
)

// moderator asks for and sets how an interface delays its interrupts.
type moderator func(name string, request *ethtoolCoalesce) error

// moderation is what a port had before.
type moderation struct {
	name   string
	before ethtoolCoalesce
}

// moderate reads how the path's ports delay their interrupts, and sets it if the config says so. A
// network card that waits for more frames delays each of them.
func (d *Driver) moderate() (err error) {
	if d.moderationSocket, err = ethtoolSocket(); err != nil {
		return fmt.Errorf("opening a socket for ethtool: %w", err)
	}
	return d.moderateBy(d.askModeration)
}

func (d *Driver) askModeration(name string, request *ethtoolCoalesce) error {
	return ethtoolBy(d.moderationSocket, name, unsafe.Pointer(request))
}

func (d *Driver) moderateBy(ask moderator) error {
	for _, p := range d.ports {
		state, err := d.moderatePort(ask, p.name)
		if err != nil {
			return fmt.Errorf("interface %q: interrupt moderation: %w", p.name, err)
		}
		d.description.Ports = append(d.description.Ports, state)
	}
	return nil
}

// moderatePort returns what holds afterwards; nothing of a port that has no moderation, as a veth.
func (d *Driver) moderatePort(ask moderator, name string) (measure.PortState, error) {
	state, wanted := measure.PortState{Interface: name}, d.config.InterruptMicroseconds
	now := ethtoolCoalesce{command: ethtoolGetCoalesce}
	err := ask(name, &now)
	if errors.Is(err, unix.EOPNOTSUPP) {
		if wanted != nil && *wanted > 0 {
			d.fallBack("the interrupts of %s cannot be delayed: the port has no moderation", name)
		}
		return state, nil
	}
	if err != nil {
		return state, err
	}
	if wanted != nil {
		before := now
		set := before
		set.command, set.rxMicroseconds, set.adaptiveRx = ethtoolSetCoalesce, uint32(*wanted), 0
		if err := ask(name, &set); err != nil {
			d.fallBack("the interrupt moderation of %s stays as it is: %v", name, err)
		} else {
			d.moderated = append(d.moderated, moderation{name, before})
		}
		// Drivers round it.
		now.command = ethtoolGetCoalesce
		if err := ask(name, &now); err != nil {
			return state, err
		}
	}
	state.InterruptMicroseconds, state.AdaptiveInterrupts = new(int64(now.rxMicroseconds)), now.adaptiveRx != 0
	return state, nil
}

func (d *Driver) fallBack(format string, args ...any) {
	d.description.Fallbacks = append(d.description.Fallbacks, fmt.Sprintf(format, args...))
}

// restoreModeration sets what the ports had before; they may be gone.
func (d *Driver) restoreModeration(ask moderator) (err error) {
	for _, m := range d.moderated {
		m.before.command = ethtoolSetCoalesce
		if failed := ask(m.name, &m.before); failed != nil && !isMissing(failed) {
			err = errors.Join(err, fmt.Errorf("restoring the interrupt moderation of %q: %w", m.name, failed))
		}
	}
	d.moderated = nil
	return err
}

// closeModeration does so with the driver's own socket.
func (d *Driver) closeModeration() error {
	if d.moderationSocket <= 0 {
		return nil
	}
	err := errors.Join(d.restoreModeration(d.askModeration), unix.Close(d.moderationSocket))
	d.moderationSocket = 0
	return err
}
