//go:build linux

package main

import (
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"vnfbench.io/operator/internal/testing/netnstest"
)

func TestDeleteBridges(t *testing.T) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	ns := netnstest.New(t, "node")
	err := ns.Run(func() error {
		for _, name := range []string{"vbempty", "vbbusy"} {
			if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: name}}); err != nil {
				return err
			}
		}
		busy, err := netlink.LinkByName("vbbusy")
		if err != nil {
			return err
		}
		veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "port", MasterIndex: busy.Attrs().Index}, PeerName: "peer"}
		if err := netlink.LinkAdd(veth); err != nil {
			return err
		}
		for name, want := range map[string]string{
			"vbempty": "",
			"vbgone":  "",
			"vbbusy":  `bridge "vbbusy" still has port "port"`,
			"port":    `"port" is a veth, not a bridge`,
		} {
			err := deleteBridge(name, log)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		if _, err := netlink.LinkByName("vbempty"); err == nil {
			t.Error("vbempty is still there")
		}
		if _, err := netlink.LinkByName("vbbusy"); err != nil {
			t.Errorf("vbbusy is gone: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
