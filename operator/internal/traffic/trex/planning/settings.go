package planning

// What TRex drives its ports with.
const (
	// DPDK takes the ports from the kernel: PCI devices bound to vfio-pci, or those of a
	// driver that shares them with the kernel (mlx5).
	DPDK = "DPDK"
	// AFPacket leaves the ports to Linux and sends through packet sockets.
	AFPacket = "AFPacket"
)

// CongestionControls are the names of the algorithms that TRex's TCP has, as the kernel
// calls them; the kernel's name of newreno is reno.
var CongestionControls = []string{"cubic", "newreno", "reno"}

// Settings are the driver's in the measurer's instructions.
type Settings struct {
	// Mode is DPDK or AFPacket.
	Mode string `json:"mode"`
	// CoresPerPort is how many threads send at each port, at least 1.
	CoresPerPort int `json:"coresPerPort"`
	// HugepagesMebibytes is the pod's memory in hugepages; with 0 the server uses none.
	HugepagesMebibytes int64 `json:"hugepagesMebibytes,omitempty"`
	// Resources are those of the ports' devices, west and east, by which a device plugin
	// names their PCI addresses in the environment; empty with AFPacket.
	Resources [2]string `json:"resources,omitzero"`
	// ExtraConfiguration is a YAML mapping that is merged over the server's
	// configuration, and takes precedence; empty means none.
	ExtraConfiguration string `json:"extraConfiguration,omitempty"`
}
