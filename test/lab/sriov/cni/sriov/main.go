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
	// Before anything is changed, so that DEL finds it also after an ADD that failed.
	kept := state{conf.DPDKMode, conf.Master, conf.Vlan, conf.VFID, conf.HostIFNames, args.IfName}
	if err := utils.SaveNetConf(args.ContainerID, config.DefaultCNIDir, args.IfName, kept); err != nil {
		return errors.Join(err, forget(statePath(config.DefaultCNIDir, args)))
	}
	// The function may have kept what an earlier pod asked for: DEL resets nothing while the physical function is away.
	if err := clean(conf); err != nil {
		return err
	}
	manager := sriov.NewSriovManager()
	if err := manager.ApplyVFConfig(conf); err != nil {
		return err
	}
	result := &current.Result{CNIVersion: conf.CNIVersion, Interfaces: []*current.Interface{{Name: args.IfName, Sandbox: netns.Path()}}}
	if mac != nil {
		if err := setMAC(conf, mac); err != nil {
			return errors.Join(err, clean(conf))
		}
		result.Interfaces[0].Mac = mac.String()
	}
	if !conf.DPDKMode {
		address, err := manager.SetupVF(conf, args.IfName, args.ContainerID, netns)
		if err != nil {
			return errors.Join(err, clean(conf))
		}
		if mac == nil {
			result.Interfaces[0].Mac = address
		}
	}
	return types.PrintResult(result, conf.CNIVersion)
}

// macBytes is the length of an Ethernet address.
const macBytes = 6

// setMAC gives a virtual function, which is clean, its address: on its own interface, if the kernel drives it, and by the
// physical function, so that no program in the pod can change it. An igb refuses the first once the second was done, until
// its address for the function is zero again.
func setMAC(conf *sriovtypes.NetConf, mac net.HardwareAddr) error {
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

// clean takes the tag and the address from a virtual function.
func clean(conf *sriovtypes.NetConf) error {
	master, err := netlink.LinkByName(conf.Master)
	if err != nil {
		return fmt.Errorf("finding the physical function %q: %w", conf.Master, err)
	}
	if err := netlink.LinkSetVfVlan(master, conf.VFID, 0); err != nil {
		return fmt.Errorf("removing the VLAN tag of VF %d of %s: %w", conf.VFID, conf.Master, err)
	}
	return setByPhysicalFunction(conf, make(net.HardwareAddr, macBytes))
}

// remove takes the virtual function back.
func remove(args *skel.CmdArgs) error { return takeBack(kernel{}, config.DefaultCNIDir, args) }

// host is what DEL asks of the kernel. Where there is nothing to do, neither returns an error.
type host interface {
	// release moves the function's interface from the pod to the node.
	release(conf *sriovtypes.NetConf, netns, name string) error
	// reset takes from the function what ADD gave it.
	reset(conf *sriovtypes.NetConf) error
}

// takeBack does what is left to do of what ADD did. DEL may come twice, and after one that failed in the middle.
func takeBack(h host, dir string, args *skel.CmdArgs) error {
	path := statePath(dir, args)
	conf, found, err := load(path)
	if err != nil || !found {
		return err
	}
	if !conf.DPDKMode && args.Netns != "" {
		if err := h.release(conf, args.Netns, args.IfName); err != nil {
			return err
		}
	}
	if err := h.reset(conf); err != nil {
		return err
	}
	return forget(path)
}

func statePath(dir string, args *skel.CmdArgs) string {
	return filepath.Join(dir, args.ContainerID+"-"+args.IfName)
}

// forget removes the file of what ADD kept.
func forget(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// kernel is the host of the node.
type kernel struct{}

func (kernel) release(conf *sriovtypes.NetConf, path, name string) error {
	netns, err := ns.GetNS(path)
	var gone ns.NSPathNotExistErr
	var ended ns.NSPathNotNSErr
	if errors.As(err, &gone) || errors.As(err, &ended) || errors.Is(err, fs.ErrNotExist) {
		return nil // the kernel gave the interface back; GetNS looks before it opens, and the namespace may end in between
	}
	if err != nil {
		return fmt.Errorf("opening the pod's network namespace: %w", err)
	}
	defer netns.Close()
	var found string
	err = netns.Do(func(ns.NetNS) (err error) {
		// A DEL that failed may have given the interface its name on the node already.
		found, err = firstOf(name, conf.HostIFNames)
		return err
	})
	if err != nil || found == "" {
		return err
	}
	return sriov.NewSriovManager().ReleaseVF(conf, found, "", netns)
}

// firstOf returns the first name that an interface has, or "".
func firstOf(names ...string) (string, error) {
	for _, name := range names {
		_, err := netlink.LinkByName(name)
		if err == nil {
			return name, nil
		}
		if !isGone(err) {
			return "", fmt.Errorf("finding the interface %q: %w", name, err)
		}
	}
	return "", nil
}

func isGone(err error) bool {
	var gone netlink.LinkNotFoundError
	return errors.As(err, &gone)
}

func (kernel) reset(conf *sriovtypes.NetConf) error {
	if _, err := utils.GetPciAddress(conf.Master, conf.VFID); err != nil {
		return nil // there is no such function any longer, or its physical function is away: ADD begins with a clean one
	}
	err := clean(conf)
	if isGone(err) {
		return nil
	}
	return err
}

// check accepts what ADD made.
func check(*skel.CmdArgs) error { return nil }
