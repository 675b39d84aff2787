//go:build linux

package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"

	"vnfbench.io/operator/internal/clock"
)

// Card is one network card of the guest.
type Card struct {
	Interface, MAC, Driver string
	Index                  int
}

const (
	// cardTimeout is the timeout for drivers that make their interfaces in the background.
	cardTimeout  = 10 * time.Second
	cardInterval = 50 * time.Millisecond
)

// Cards are the network cards of a guest, and which of them are ports.
type Cards struct {
	cards []Card
	macs  []string
}

// FindCards lists the network cards and logs the use of each. It first waits, for
// a limited time, for those of the ports that the user data names. The list
// leaves out a card that is still missing.
func FindCards(ctx context.Context, userData []byte, log *slog.Logger) (Cards, error) {
	macs := portMACs(userData)
	found, err := awaitCards(ctx, macs)
	if err != nil {
		return Cards{}, err
	}
	describe(found, macs, log)
	return Cards{found, macs}, nil
}

// Port returns the card with a hardware address.
func (c Cards) Port(mac string) (Card, bool) {
	i := slices.IndexFunc(c.cards, func(c Card) bool { return strings.EqualFold(c.MAC, mac) })
	if i < 0 {
		return Card{}, false
	}
	return c.cards[i], true
}

// Serve serves the handler on the management card, the first that is not a port,
// in the background until the context ends. A guest without one only logs that
// on the console.
func (c Cards) Serve(ctx context.Context, port int, handler http.Handler, log *slog.Logger) {
	chosen, ok := management(c.cards, c.macs)
	if !ok {
		log.Warn("no management interface: every network card is a port of the configuration, so this guest cannot be asked")
		return
	}
	go serve(ctx, chosen, port, handler, log)
}

func awaitCards(ctx context.Context, macs []string) ([]Card, error) {
	deadline := time.Now().Add(cardTimeout)
	for {
		found, err := cards()
		if err != nil || len(found) > 0 && len(missing(found, macs)) == 0 || time.Now().After(deadline) {
			return found, err
		}
		if err := clock.Sleep(ctx, cardInterval); err != nil {
			return nil, err
		}
	}
}

// describe logs what each card is for.
func describe(found []Card, macs []string, log *slog.Logger) {
	for _, c := range found {
		role := "management"
		if slices.Contains(macs, c.MAC) {
			role = "port"
		}
		log.Info("network card", "interface", c.Interface, "mac", c.MAC, "driver", c.Driver, "role", role)
	}
}

// cards lists the network cards, in the kernel's order. It leaves out interfaces
// without a device, such as the loopback's and WireGuard's.
func cards() ([]Card, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("listing interfaces: %w", err)
	}
	var found []Card
	for _, link := range links {
		attrs := link.Attrs()
		driver, err := os.Readlink(filepath.Join("/sys/class/net", attrs.Name, "device/driver"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the driver of %q: %w", attrs.Name, err)
		}
		found = append(found, Card{attrs.Name, attrs.HardwareAddr.String(), filepath.Base(driver), attrs.Index})
	}
	slices.SortFunc(found, func(a, b Card) int { return a.Index - b.Index })
	return found, nil
}

// portMACs returns the hardware addresses of the ports in a configuration, also
// in a refused one: the management card must be found to report the refusal. It
// leaves out what it cannot read.
func portMACs(userData []byte) []string {
	var config struct {
		Ports []struct {
			MAC string `json:"mac"`
		} `json:"ports"`
	}
	_ = json.Unmarshal(userData, &config) // the parser of all of it reports what is wrong
	var macs []string
	for _, port := range config.Ports {
		if mac, err := net.ParseMAC(port.MAC); err == nil {
			macs = append(macs, mac.String())
		}
	}
	return macs
}

// missing returns the hardware addresses that no card has.
func missing(found []Card, macs []string) []string {
	var absent []string
	for _, mac := range macs {
		if !slices.ContainsFunc(found, func(c Card) bool { return c.MAC == mac }) {
			absent = append(absent, mac)
		}
	}
	return absent
}

// management returns the first card that is not a port.
func management(found []Card, macs []string) (Card, bool) {
	i := slices.IndexFunc(found, func(c Card) bool { return !slices.Contains(macs, c.MAC) })
	if i < 0 {
		return Card{}, false
	}
	return found[i], true
}

// mergers are the features by which a card or the kernel makes one frame of
// several. A device under test forwards the frames that it received. The port
// would count merged ones as one, they would pass the function's rules as one,
// and be cut again on the way out. Neither counters nor cost would then be those
// of the frames on the wire. The kernel itself switches off LRO where it forwards.
var mergers = []string{"rx-gro", "rx-gro-hw", "rx-lro", "rx-gro-list", "rx-udp-gro-forwarding"}

// Tune prepares a port: it sets as many queues as there are processors to serve
// them, and switches off the merging of frames.
func Tune(iface string) (queues int, err error) {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return 0, fmt.Errorf("talking to network cards: %w", err)
	}
	defer tool.Close()
	return tune(tool, iface, runtime.NumCPU())
}

func tune(tool *ethtool.Ethtool, iface string, processors int) (queues int, err error) {
	queues, err = setQueues(tool, iface, processors)
	if err != nil {
		return queues, err
	}
	features, err := tool.Features(iface)
	if err != nil {
		return queues, fmt.Errorf("interface %q: reading its offloads: %w", iface, err)
	}
	off := map[string]bool{}
	for _, name := range mergers {
		if features[name] {
			off[name] = false
		}
	}
	if len(off) == 0 {
		return queues, nil
	}
	if err := tool.Change(iface, off); err != nil {
		return queues, fmt.Errorf("interface %q: switching off what merges frames: %w", iface, err)
	}
	if features, err = tool.Features(iface); err != nil {
		return queues, fmt.Errorf("interface %q: reading its offloads: %w", iface, err)
	}
	for _, name := range mergers {
		if features[name] {
			err = errors.Join(err, fmt.Errorf("interface %q merges frames by %s, which cannot be switched off", iface, name))
		}
	}
	return queues, err
}

// setQueues opens as many pairs of queues as the card has, at most one per
// processor. Cards that do not support queues have one.
func setQueues(tool *ethtool.Ethtool, iface string, processors int) (int, error) {
	channels, err := tool.GetChannels(iface)
	if err != nil || channels.MaxCombined == 0 {
		return 1, nil // e1000 and similar cards do not answer
	}
	want := min(channels.MaxCombined, uint32(processors))
	if channels.CombinedCount == want {
		return int(want), nil
	}
	channels.CombinedCount = want
	if _, err := tool.SetChannels(iface, channels); err != nil {
		return int(channels.CombinedCount), fmt.Errorf("interface %q: setting %d queues: %w", iface, want, err)
	}
	return int(want), nil
}
