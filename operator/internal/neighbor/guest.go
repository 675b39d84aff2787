package neighbor

// GuestConfig is what a neighbour that is a virtual machine finds as NoCloud
// user data, in JSON. What it shall load it is told by the measurer, as a pod is.
type GuestConfig struct {
	// Ports are those of a Network neighbour, InterfaceWest and InterfaceEast;
	// none for any other.
	Ports []GuestPort `json:"ports"`
}

// GuestPort is a card of the machine, known by its address.
type GuestPort struct {
	// Name that the card gets.
	Name string `json:"name"`
	MAC  string `json:"mac"`
	// MTUBytes that the card gets.
	MTUBytes int `json:"mtuBytes"`
}

// ScratchSerial is the serial number of the disk that the guest formats and
// mounts as Scratch; only a Disk neighbour's machine has one.
const ScratchSerial = "vnfscratch"
