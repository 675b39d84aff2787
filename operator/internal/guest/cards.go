//go:build linux

package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
)

// card is one network card of the guest.
type card struct {
	Interface, MAC, Driver string
	Index                  int
}

// cards lists the network cards, in the kernel's order. Interfaces without a
// device, such as the loopback's and WireGuard's, are none.
func cards() ([]card, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("listing interfaces: %w", err)
	}
	var found []card
	for _, link := range links {
		attrs := link.Attrs()
		driver, err := os.Readlink(filepath.Join("/sys/class/net", attrs.Name, "device/driver"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the driver of %q: %w", attrs.Name, err)
		}
		found = append(found, card{attrs.Name, attrs.HardwareAddr.String(), filepath.Base(driver), attrs.Index})
	}
	slices.SortFunc(found, func(a, b card) int { return a.Index - b.Index })
	return found, nil
}

// measuredMACs are the hardware addresses of the ports in a configuration, also
// in one that is refused: the management's card must be found to say so. What
// cannot be read is left out.
func measuredMACs(userData []byte) []string {
	var config struct {
		Ports []struct {
			MAC string `json:"mac"`
		} `json:"ports"`
	}
	_ = json.Unmarshal(userData, &config) // vnf.Parse tells what is wrong with it
	var macs []string
	for _, port := range config.Ports {
		if mac, err := net.ParseMAC(port.MAC); err == nil {
			macs = append(macs, mac.String())
		}
	}
	return macs
}

// missing are the hardware addresses that no card has.
func missing(found []card, macs []string) []string {
	var absent []string
	for _, mac := range macs {
		if !slices.ContainsFunc(found, func(c card) bool { return c.MAC == mac }) {
			absent = append(absent, mac)
		}
	}
	return absent
}

// management is the first card that is no measured port.
func management(found []card, macs []string) (card, bool) {
	i := slices.IndexFunc(found, func(c card) bool { return !slices.Contains(macs, c.MAC) })
	if i < 0 {
		return card{}, false
	}
	return found[i], true
}

// mergers are the features by which a card or the kernel makes one frame of
// several. A device under test forwards the frames that it got: merged ones
// would be counted as one by the port, pass the function's rules as one, and be
// cut again on the way out, so that neither counters nor cost would be those of
// the frames on the wire. The kernel itself switches off LRO where it forwards.
var mergers = []string{"rx-gro", "rx-gro-hw", "rx-lro", "rx-gro-list", "rx-udp-gro-forwarding"}

// tune prepares a measured port: as many queues as there are processors to
// serve them, and no merging of frames.
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

// setQueues opens as many pairs of queues as the card has, at most one a
// processor. Cards that know nothing of queues have one.
func setQueues(tool *ethtool.Ethtool, iface string, processors int) (int, error) {
	channels, err := tool.GetChannels(iface)
	if err != nil || channels.MaxCombined == 0 {
		return 1, nil // e1000 and its like do not answer
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
