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
