// sriov is the CNI plugin that moves a virtual function into a pod: a command with a current CNI
// library, around the parts of sriov-cni 2.1.0, the newest version that can be fetched. The plugin's own command
// speaks CNI 0.3.1 and sets no MAC address; later versions do, and the operator relies on it.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/intel/sriov-cni/pkg/config"
	"github.com/intel/sriov-cni/pkg/sriov"
	sriovtypes "github.com/intel/sriov-cni/pkg/types"
	"github.com/intel/sriov-cni/pkg/utils"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func main() {
	// A network namespace is a thread's.
	runtime.LockOSThread()
	skel.PluginMainFuncs(skel.CNIFuncs{Add: add, Del: remove, Check: check}, version.All, "sriov of vnfbench's lab")
}

// requestedMAC returns the address that the pod asks for, nil without one: the capability "mac",
// or the field of the configuration.
func requestedMAC(configuration []byte) (net.HardwareAddr, error) {
	var fields struct {
		MAC           string `json:"mac"`
		RuntimeConfig struct {
			MAC string `json:"mac"`
		} `json:"runtimeConfig"`
	}
	if err := json.Unmarshal(configuration, &fields); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	text := fields.RuntimeConfig.MAC
	if text == "" {
		text = fields.MAC
	}
	if text == "" {
		return nil, nil
	}
	return net.ParseMAC(text)
}

// state is what DEL must know of ADD. The configuration itself cannot be kept: the CNI library writes only the fields of
// its own part.
type state struct {
	DPDKMode    bool   `json:"dpdkMode"`
	Master      string `json:"master"`
	VLAN        int    `json:"vlan"`
	VFID        int    `json:"vfID"`
	HostIFNames string `json:"hostIFNames"`
	ContIFNames string `json:"contIFNames"`
}

// load returns what ADD kept, and false if there is nothing: ADD did not finish, or DEL did.
func load(path string) (*sriovtypes.NetConf, bool, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	data, err := utils.ReadScratchNetConf(path)
	if err != nil {
		return nil, false, err
	}
	var kept state
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, false, fmt.Errorf("reading %s: %w", path, err)
	}
	return &sriovtypes.NetConf{
		DPDKMode: kept.DPDKMode, Master: kept.Master, Vlan: kept.VLAN, VFID: kept.VFID, HostIFNames: kept.HostIFNames, ContIFNames: kept.ContIFNames,
	}, true, nil
}

func add(args *skel.CmdArgs) (err error) {
	conf, err := config.LoadConf(args.StdinData)
	if err != nil {
		return err
	}
	mac, err := requestedMAC(args.StdinData)
	if err != nil {
		return err
	}
	netns, err := ns.GetNS(args.Netns)
	if err != nil {
		return fmt.Errorf("opening the pod's network namespace: %w", err)
	}
	defer netns.Close()
	manager := sriov.NewSriovManager()
	if err := manager.ApplyVFConfig(conf); err != nil {
		return err
	}
	result := &current.Result{CNIVersion: conf.CNIVersion, Interfaces: []*current.Interface{{Name: args.IfName, Sandbox: netns.Path()}}}
	if mac != nil {
		if err := setMAC(conf, mac); err != nil {
			return errors.Join(err, manager.ResetVFConfig(conf))
		}
		result.Interfaces[0].Mac = mac.String()
	}
	if !conf.DPDKMode {
		address, err := manager.SetupVF(conf, args.IfName, args.ContainerID, netns)
		if err != nil {
			return errors.Join(err, manager.ResetVFConfig(conf))
		}
		if mac == nil {
			result.Interfaces[0].Mac = address
		}
	}
	kept := state{conf.DPDKMode, conf.Master, conf.Vlan, conf.VFID, conf.HostIFNames, conf.ContIFNames}
	if err := utils.SaveNetConf(args.ContainerID, config.DefaultCNIDir, args.IfName, kept); err != nil {
		return err
	}
	return types.PrintResult(result, conf.CNIVersion)
}

// macBytes is the length of an Ethernet address.
const macBytes = 6

// setMAC gives a virtual function its address: on its own interface, if the kernel drives it, and by the physical
// function, so that no program in the pod can change it. An igb refuses the first once the second was done, until its
// address for the function is zero again.
func setMAC(conf *sriovtypes.NetConf, mac net.HardwareAddr) error {
	if err := setByPhysicalFunction(conf, make(net.HardwareAddr, macBytes)); err != nil {
		return err
	}
	if !conf.DPDKMode {
		link, err := netlink.LinkByName(conf.HostIFNames)
		if err != nil {
			return fmt.Errorf("finding the virtual function %q: %w", conf.HostIFNames, err)
		}
		err = netlink.LinkSetHardwareAddr(link, mac)
		if errors.Is(err, unix.EADDRNOTAVAIL) {
			// The physical function was reset, and hears its virtual functions only when they are reset too.
			err = errors.Join(netlink.LinkSetUp(link), netlink.LinkSetDown(link), netlink.LinkSetHardwareAddr(link, mac))
		}
		if err != nil {
			return fmt.Errorf("giving %s the MAC address %s: %w", conf.HostIFNames, mac, err)
		}
	}
	return setByPhysicalFunction(conf, mac)
}

func setByPhysicalFunction(conf *sriovtypes.NetConf, mac net.HardwareAddr) error {
	master, err := netlink.LinkByName(conf.Master)
	if err != nil {
		return fmt.Errorf("finding the physical function %q: %w", conf.Master, err)
	}
	if err := netlink.LinkSetVfHardwareAddr(master, conf.VFID, mac); err != nil {
		return fmt.Errorf("giving VF %d of %s the MAC address %s: %w", conf.VFID, conf.Master, mac, err)
	}
	return nil
}

// remove takes the virtual function back. What is gone already is no error: DEL may come twice.
func remove(args *skel.CmdArgs) error {
	path := filepath.Join(config.DefaultCNIDir, args.ContainerID+"-"+args.IfName)
	conf, found, err := load(path)
	if err != nil || !found {
		return err
	}
	manager := sriov.NewSriovManager()
	if !conf.DPDKMode && args.Netns != "" {
		netns, err := ns.GetNS(args.Netns)
		switch gone := (ns.NSPathNotExistErr{}); {
		case errors.As(err, &gone): // the kernel gave the interface back
		case err != nil:
			return fmt.Errorf("opening the pod's network namespace: %w", err)
		default:
			defer netns.Close()
			if err := manager.ReleaseVF(conf, args.IfName, args.ContainerID, netns); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(manager.ResetVFConfig(conf), setByPhysicalFunction(conf, make(net.HardwareAddr, macBytes))); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// check accepts what ADD made.
func check(*skel.CmdArgs) error { return nil }
