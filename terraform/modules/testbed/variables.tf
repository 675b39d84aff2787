variable "name" {
  description = "Name of the Testbed. Example: \"lab\"."
  type        = string
  default     = "lab"

  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$", var.name))
    error_message = "name has at most 63 lower case letters, digits, '-' and '.'."
  }
}

variable "namespace" {
  description = "Namespace of the Testbed and its runs. Example: \"bench\"."
  type        = string
  default     = "bench"

  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", var.namespace))
    error_message = "namespace has at most 63 lower case letters, digits and '-'."
  }
}

variable "nodes" {
  description = "The machines by name, with their labels: the output `nodes` of `proxmox-nodes` or `baremetal-nodes`."
  type = map(object({
    labels = map(string)
  }))

  validation {
    condition     = length([for n in var.nodes : n if lookup(n.labels, "vnfbench.io/role", "") == "generator"]) > 0 == (length([for n in var.nodes : n if lookup(n.labels, "vnfbench.io/role", "") == "device"]) > 0)
    error_message = "Either one of nodes has the label vnfbench.io/role = \"generator\" and another \"device\", or none has it: then every node is both."
  }
}

variable "link_bits_per_second" {
  description = "Rate of the link behind each traffic port. Example: 10000000000."
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
    Pools of virtual functions, as the SR-IOV network operator names them. Absent: the ports
    are bridges, and generator and device run on one node.
    Example: { generator_west = "openshift.io/gen_west", generator_east = "openshift.io/gen_east",
    device_west = "openshift.io/dut_west", device_east = "openshift.io/dut_east" }.
  EOT
  type = object({
    generator_west = string
    generator_east = string
    device_west    = string
    device_east    = string
    device_inner   = optional(string)
  })
  default = null

  validation {
    condition     = var.sriov == null ? true : alltrue([for pool in values(var.sriov) : pool == null ? true : can(regex("^[a-z0-9.-]+/[A-Za-z0-9_.-]+$", pool))])
    error_message = "Each pool of sriov is a prefix and a name, such as openshift.io/gen_west."
  }
}

variable "trex" {
  description = <<-EOT
    Makes the frames by TRex, from an image of your own (docs/how-to/trex.md): by DPDK on the
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
