variable "name" {
  description = "Name of the Testbed. Example: \"lab\"."
  type        = string
  default     = "lab"

  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$", var.name))
    error_message = "name has at most 63 lower case letters, digits, '-' and '.'."
  }
}

variable "is_default" {
  description = "Whether runs that name no Testbed use this one. Example: true."
  type        = bool
  default     = false
}

variable "namespaces" {
  description = <<-EOT
    Namespaces whose runs may use the Testbed, by their labels: those that have all of `match_labels`.
    Absent: all namespaces. Example: { match_labels = { "vnfbench.io/lab" = "metal" } }.
  EOT
  type = object({
    match_labels = map(string)
  })
  default = null

  validation {
    condition     = var.namespaces == null ? true : length(var.namespaces.match_labels) > 0
    error_message = "match_labels of namespaces has at least one label; leave namespaces out to allow all."
  }
}

variable "history_limit" {
  description = "How many finished runs of the Testbed are kept, from 1 to 10000. Absent: the API's default, 200. Example: 1000."
  type        = number
  default     = null

  validation {
    condition     = var.history_limit == null ? true : var.history_limit >= 1 && var.history_limit <= 10000
    error_message = "history_limit is from 1 to 10000."
  }
}

variable "nodes" {
  description = "The machines by name, with their labels: the output `nodes` of `proxmox-nodes` or `baremetal-nodes`. Example: { gen-1 = { labels = { \"vnfbench.io/role\" = \"generator\" } } }."
  type = map(object({
    labels = map(string)
  }))

  validation {
    condition     = length([for n in var.nodes : n if lookup(n.labels, "vnfbench.io/role", "") == "generator"]) > 0 == (length([for n in var.nodes : n if lookup(n.labels, "vnfbench.io/role", "") == "device"]) > 0)
    error_message = "Either one of nodes has the label vnfbench.io/role = \"generator\" and another \"device\", or none has it: then every node is both."
  }
}

variable "link_bits_per_second" {
  description = "Rate of the link of each traffic port. Example: 10000000000."
  type        = number
  default     = 10000000000

  validation {
    condition     = var.link_bits_per_second >= 1000000 && var.link_bits_per_second <= 800000000000
    error_message = "link_bits_per_second is from 1000000 to 800000000000."
  }
}

variable "mtu_bytes" {
  description = "The largest IP packet that the traffic ports carry. Example: 1500."
  type        = number
  default     = 1500

  validation {
    condition     = var.mtu_bytes >= 1280 && var.mtu_bytes <= 9000
    error_message = "mtu_bytes is from 1280 to 9000."
  }
}

variable "sriov" {
  description = <<-EOT
    Pools of virtual functions, as the SR-IOV network operator names them, and the tags that the
    NICs put on (0: none). Without it, host_devices and networks the ports are bridges, and
    generator and device run on one node.
    Example: { generator_west = "openshift.io/gen_west", generator_east = "openshift.io/gen_east",
    device_west = "openshift.io/dut_west", device_east = "openshift.io/dut_east" }.
  EOT
  type = object({
    generator_west   = string
    generator_east   = string
    device_west      = string
    device_east      = string
    device_inner     = optional(string)
    vlan_west        = optional(number)
    vlan_east        = optional(number)
    first_inner_vlan = optional(number)
  })
  default = null

  validation {
    condition = var.sriov == null ? true : alltrue([
      for pool in [var.sriov.generator_west, var.sriov.generator_east, var.sriov.device_west, var.sriov.device_east, var.sriov.device_inner] :
      pool == null ? true : can(regex("^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$", pool))
    ])
    error_message = "Each pool of sriov is a prefix and a name, such as openshift.io/gen_west."
  }

  validation {
    condition     = var.sriov == null ? true : alltrue([for tag in [var.sriov.vlan_west, var.sriov.vlan_east] : tag == null ? true : tag >= 0 && tag <= 4094])
    error_message = "vlan_west and vlan_east of sriov are from 0, none, to 4094."
  }

  validation {
    condition     = try(var.sriov.first_inner_vlan, null) == null ? true : var.sriov.first_inner_vlan >= 1 && var.sriov.first_inner_vlan <= 4080
    error_message = "first_inner_vlan of sriov is from 1 to 4080."
  }
}

variable "host_devices" {
  description = <<-EOT
    Whole NICs that move into the pods: those of the generator by PCI address, those of the device
    by PCI address for functions in pods, by KubeVirt's resource and the NIC's own MAC address for
    functions in virtual machines, or both. An address says nothing about the node: label one machine
    "generator" and one "device".
    Example: { generator_west = "0000:03:00.0", generator_east = "0000:03:00.1",
    device_west = { pci_address = "0000:41:00.0" }, device_east = { pci_address = "0000:41:00.1" } }.
  EOT
  type = object({
    generator_west = string
    generator_east = string
    device_west    = object({ pci_address = optional(string), resource_name = optional(string), mac_address = optional(string) })
    device_east    = object({ pci_address = optional(string), resource_name = optional(string), mac_address = optional(string) })
  })
  default = null

  validation {
    condition     = length([for way in [var.sriov, var.host_devices, var.networks] : way if way != null]) <= 1
    error_message = "At most one of sriov, host_devices and networks says what the ports are."
  }

  validation {
    condition = var.host_devices == null ? true : alltrue([
      for address in [var.host_devices.generator_west, var.host_devices.generator_east, var.host_devices.device_west.pci_address, var.host_devices.device_east.pci_address] :
      address == null ? true : can(regex("^[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-7]$", address))
    ])
    error_message = "Each PCI address of host_devices has the form 0000:03:00.1."
  }

  validation {
    condition = var.host_devices == null ? true : alltrue([
      for nic in [var.host_devices.device_west, var.host_devices.device_east] :
      (nic.pci_address != null || nic.resource_name != null) && (nic.resource_name == null) == (nic.mac_address == null)
    ])
    error_message = "device_west and device_east of host_devices name a NIC by pci_address, by resource_name and mac_address together, or by all three."
  }
}

variable "networks" {
  description = <<-EOT
    Names of existing NetworkAttachmentDefinitions: the one that the generator's port joins, the
    one of the device's (absent: the same), their namespace (absent: that of each run), and the tag
    at the device where the networks change it on the way (0: they take it off).
    Example: { west = { generator = "lab-west" }, east = { generator = "lab-east" } }.
  EOT
  type = object({
    west = object({ generator = string, device = optional(string), namespace = optional(string), device_vlan = optional(number) })
    east = object({ generator = string, device = optional(string), namespace = optional(string), device_vlan = optional(number) })
  })
  default = null

  validation {
    condition     = var.networks == null ? true : alltrue([for port in values(var.networks) : port.device_vlan == null ? true : port.device_vlan >= 0 && port.device_vlan <= 4094])
    error_message = "device_vlan of networks is from 0, the tag is taken off, to 4094."
  }
}

variable "calibration_networks" {
  description = <<-EOT
    Names of existing NetworkAttachmentDefinitions of two more ports of the generator, which a cable or a
    switch joins without a device, and their namespace (absent: that of each run): the generator measures
    itself over them. Absent: only bridges are calibrated. Example: { west = "loop-west", east = "loop-east" }.
  EOT
  type        = object({ west = string, east = string, namespace = optional(string) })
  default     = null

  validation {
    condition     = var.calibration_networks == null ? true : anytrue([for way in [var.sriov, var.host_devices, var.networks] : way != null])
    error_message = "calibration_networks is for ports by sriov, host_devices or networks; bridges have their own calibration."
  }

  validation {
    condition     = var.calibration_networks == null ? true : var.trex == null || var.sriov == null
    error_message = "TRex on virtual functions takes no calibration_networks: it drives its two ports alone."
  }
}

variable "vlan" {
  description = "Tags of the generator's frames at its ports, for every kind of port but sriov, whose NICs have vlan_west and vlan_east. Example: { west = 101, east = 102 }."
  type        = object({ west = optional(number), east = optional(number) })
  default     = {}

  validation {
    condition     = alltrue([for tag in [var.vlan.west, var.vlan.east] : tag == null ? true : var.sriov == null && tag >= 1 && tag <= 4094])
    error_message = "Tags of vlan are from 1 to 4094; with sriov use its vlan_west and vlan_east."
  }
}

variable "generator" {
  description = <<-EOT
    The traffic pod: the CPUs and memory that it requests and is limited to (whole CPUs are its own on
    a node with the static CPU manager), its image and the taints that it tolerates, and the XDP driver: how many cores
    send (0: the driver's choice), how frames leave a port, how the kernel schedules what sends, and how many
    frames that are due may wait for the device (ring_frames), and for how long a port may delay an interrupt
    (interrupt_microseconds). With `trex` the image is that one's, and xdp must
    stay out. Absent fields are the operator's defaults.
    Example: { cpu = "4", memory = "512Mi", xdp = { threads = 2, transmit_path = "Direct" } }.
  EOT
  type = object({
    cpu         = optional(string)
    memory      = optional(string)
    image       = optional(string)
    tolerations = optional(list(object({ key = optional(string), operator = optional(string), value = optional(string), effect = optional(string) })), [])
    xdp         = optional(object({ threads = optional(number), transmit_path = optional(string), scheduling = optional(string), ring_frames = optional(number), interrupt_microseconds = optional(number) }), {})
  })
  default = {}

  validation {
    condition     = alltrue([for quantity in [var.generator.cpu, var.generator.memory] : quantity == null ? true : can(regex("^[0-9]+(\\.[0-9]+)?([mkMGT]|[KMGT]i)?$", quantity))])
    error_message = "cpu and memory of generator are quantities, such as \"4\" and \"512Mi\"."
  }

  validation {
    condition     = var.generator.xdp.threads == null ? true : contains([0, 1, 2], var.generator.xdp.threads)
    error_message = "threads of generator.xdp is 0, 1 or 2."
  }

  validation {
    condition     = var.generator.xdp.transmit_path == null ? true : contains(["Auto", "Direct", "InnerVeth"], var.generator.xdp.transmit_path)
    error_message = "transmit_path of generator.xdp is Auto, Direct or InnerVeth."
  }

  validation {
    condition     = var.generator.xdp.scheduling == null ? true : contains(["Auto", "Fair", "RealTime"], var.generator.xdp.scheduling)
    error_message = "scheduling of generator.xdp is Auto, Fair or RealTime."
  }

  validation {
    condition     = var.generator.xdp.ring_frames == null ? true : var.generator.xdp.ring_frames >= 1 && var.generator.xdp.ring_frames <= 16384
    error_message = "ring_frames of generator.xdp is from 1 to 16384."
  }
  validation {
    condition     = var.generator.xdp.interrupt_microseconds == null ? true : var.generator.xdp.interrupt_microseconds >= 0 && var.generator.xdp.interrupt_microseconds <= 1000
    error_message = "interrupt_microseconds of generator.xdp is from 0 to 1000."
  }
}

variable "device" {
  description = <<-EOT
    The nodes of the device under test: the kinds of port that they offer to functions (absent: Veth, SRIOV or
    HostDevice, as the ports are), the taints that functions tolerate, whether an observer without rights
    reads what the node did ("Enabled" or "Disabled"; with "EnabledWithCycles" it has PERFMON and SETUID until it
    listens, and counts cycles too), the images of reference functions in pods and in virtual
    machines (absent: the operator's), whether virtual machines may be real-time ("Enabled" or "Disabled"), and the
    MAC addresses of functions Custom, by their names (absent: planned).
    Example: { attachments = ["Veth", "Virtio", "E1000"], observer = "Disabled" }.
  EOT
  type = object({
    attachments = optional(list(string))
    tolerations = optional(list(object({ key = optional(string), operator = optional(string), value = optional(string), effect = optional(string) })), [])
    observer    = optional(string)

    function_image = optional(string)
    guest_image    = optional(string)
    realtime       = optional(string)
    mac_addresses  = optional(map(object({ west = optional(string), east = optional(string), management = optional(string) })), {})
  })
  default = {}

  validation {
    condition = var.device.attachments == null ? true : length(var.device.attachments) > 0 && alltrue([
      for attachment in var.device.attachments : contains(["Veth", "Virtio", "E1000", "E1000e", "RTL8139", "SRIOV", "HostDevice"], attachment)
    ])
    error_message = "attachments of device are one or more of Veth, Virtio, E1000, E1000e, RTL8139, SRIOV and HostDevice."
  }

  validation {
    condition = alltrue([for ports in values(var.device.mac_addresses) : anytrue([for address in values(ports) : address != null]) && alltrue([
      for address in values(ports) : address == null || can(regex("^[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){5}$", address))
    ])])
    error_message = "mac_addresses of device names one or more of west, east and management for each function, each an address of one NIC such as 52:54:00:12:34:56."
  }

  validation {
    condition     = var.device.observer == null ? true : contains(["Enabled", "EnabledWithCycles", "Disabled"], var.device.observer)
    error_message = "observer of device is Enabled, EnabledWithCycles or Disabled."
  }

  validation {
    condition     = var.device.realtime == null ? true : contains(["Enabled", "Disabled"], var.device.realtime)
    error_message = "realtime of device is Enabled or Disabled."
  }
}

variable "trex" {
  description = <<-EOT
    Makes the frames with TRex, from an image that you build (docs/how-to/trex.md): by DPDK on the
    pools of `sriov`, whose generator's are then of vfio-pci, or through packet sockets on bridges,
    where `image` alone counts. Absent: the built-in XDP generator.
    Example: { image = "registry.example.com/lab/vnfbench/trex:v3.08", cores_per_port = 3, hugepages_memory = "4Gi" }.
  EOT
  type = object({
    image            = string
    cores_per_port   = optional(number, 1)
    hugepages_memory = optional(string, "2Gi")
    hugepages_size   = optional(string, "1Gi")
  })
  default = null

  validation {
    condition     = var.trex == null ? true : can(regex("^[^[:space:]@]+(:[A-Za-z0-9_.-]+|@sha256:[0-9a-f]{64})$", var.trex.image))
    error_message = "image of trex has a tag or a digest, such as registry.example.com/lab/vnfbench/trex:v3.08."
  }

  validation {
    condition     = var.trex == null ? true : var.trex.cores_per_port >= 1 && var.trex.cores_per_port <= 16 && floor(var.trex.cores_per_port) == var.trex.cores_per_port
    error_message = "cores_per_port of trex is a whole number from 1 to 16."
  }

  validation {
    condition     = var.trex == null ? true : can(regex("^[1-9][0-9]*(Mi|Gi)$", var.trex.hugepages_memory)) && contains(["2Mi", "1Gi"], var.trex.hugepages_size)
    error_message = "hugepages_memory of trex is such as \"4Gi\", and hugepages_size \"2Mi\" or \"1Gi\"."
  }
}
