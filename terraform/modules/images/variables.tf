variable "nodes" {
  description = <<-EOT
    The machines by name; those that ask for the same share an image.

    - `measurement`: what makes the node quiet; see the module `cluster`. Its CPUs and huge pages are
      arguments of the kernel. Absent: an ordinary node.
    - `kernel_args`: further arguments of the kernel. Example: ["console=ttyS1,115200"].
    - `schematic_id`: an image factory's schematic that is there already, 64 hexadecimal digits, instead
      of the one that the module makes: the arguments and extensions are then those in it. Absent: the module's.

    Example: { dut-1 = { measurement = { reserved_cpus = "0-1", isolated_cpus = "2-7", hugepages_1gi = 16 } } }.
  EOT
  type = map(object({
    kernel_args  = optional(list(string), [])
    schematic_id = optional(string)
    measurement = optional(object({
      reserved_cpus = string
      isolated_cpus = string
      hugepages_2mi = optional(number, 0)
      hugepages_1gi = optional(number, 0)
    }))
  }))

  validation {
    condition = alltrue([for n in var.nodes : n.measurement == null ? true : alltrue([
      for list in [n.measurement.reserved_cpus, n.measurement.isolated_cpus] : can(regex("^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$", list))
    ])])
    error_message = "reserved_cpus and isolated_cpus of measurement are lists of CPUs such as \"0-1\" or \"2-7,10-15\"."
  }
  validation {
    condition = alltrue([for n in var.nodes : n.measurement == null ? true : alltrue([
      for pages in [n.measurement.hugepages_2mi, n.measurement.hugepages_1gi] : pages >= 0 && floor(pages) == pages
    ])])
    error_message = "hugepages_2mi and hugepages_1gi of measurement are whole numbers, 0 for none."
  }
  validation {
    condition     = alltrue(flatten([for n in var.nodes : [for arg in n.kernel_args : can(regex("^[^[:space:]\"']+$", arg))]]))
    error_message = "Each of kernel_args is one argument without spaces and quotes, such as console=ttyS1,115200."
  }
  validation {
    condition     = alltrue([for n in var.nodes : n.schematic_id == null ? true : can(regex("^[0-9a-f]{64}$", n.schematic_id))])
    error_message = "schematic_id of nodes is 64 hexadecimal digits, as the image factory answers."
  }
}

variable "talos_version" {
  description = "Version of Talos. Example: \"v1.13.0\"."
  type        = string

  validation {
    # Older ones do not take their kernel's arguments from the image where a machine starts by BIOS.
    condition     = try(tonumber(regex("^v1\\.([0-9]+)\\.[0-9]+$", var.talos_version)[0]) >= 12, false)
    error_message = "talos_version is v1.MINOR.PATCH, such as v1.13.0, and at least v1.12.0."
  }
}

variable "platform" {
  description = "What the image is for: \"nocloud\" for virtual machines that cloud-init describes, such as those of Proxmox, or \"metal\". Example: \"metal\"."
  type        = string

  validation {
    condition     = contains(["nocloud", "metal"], var.platform)
    error_message = "platform is \"nocloud\" or \"metal\"."
  }
}

variable "extensions" {
  description = "Talos' system extensions in every image, such as drivers and microcode. Example: [\"siderolabs/intel-ucode\"]."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for name in var.extensions : can(regex("^[a-z0-9-]+/[a-z0-9._-]+$", name))])
    error_message = "Each of extensions is an owner and a name, such as siderolabs/intel-ucode."
  }
}
