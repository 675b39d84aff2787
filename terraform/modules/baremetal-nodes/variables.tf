variable "cluster_name" {
  description = "Name of the cluster; it begins the names of profiles and groups. Example: \"nfv-lab\"."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,29}$", var.cluster_name))
    error_message = "cluster_name begins with a letter and has at most 30 lower case letters, digits and '-'."
  }
}

variable "nodes" {
  description = <<-EOT
    The cluster's machines by name. Adding or removing one changes no other.

    - `mac`: MAC address of the NIC that boots from the network. Example: "0c:c4:7a:00:00:11".
    - `role`: `controlplane` or `worker`.
    - `address`: IPv4 address with prefix length; the DHCP server must give it to `mac` for good.
    - `install_disk`: disk that Talos is installed on; it is overwritten. Example: "/dev/nvme0n1".
    - `kernel_args`: further arguments of the kernel, at the network boot and, by the module `images`,
      of the installed system. Example: ["console=ttyS1,115200"].
    - `labels`: node labels. `vnfbench.io/role` = "generator" or "device" is what Testbeds select by.
    - `measurement`: what makes the node quiet; see the module `cluster`. Its arguments of the
      kernel are in the machine's image; see the module `images`.
    - `config_patches`: further patches of this machine's configuration; see the module `cluster`.
  EOT
  type = map(object({
    mac          = string
    role         = string
    address      = string
    install_disk = string
    kernel_args  = optional(list(string), [])
    labels       = optional(map(string), {})
    measurement = optional(object({
      reserved_cpus       = string
      isolated_cpus       = string
      hugepages_2mi       = optional(number, 0)
      hugepages_1gi       = optional(number, 0)
      reserved_memory_mib = optional(number, 1024)
    }))
    config_patches = optional(list(string), [])
  }))

  validation {
    condition     = length([for n in var.nodes : n if n.role == "controlplane"]) % 2 == 1
    error_message = "nodes needs an odd number of machines with role \"controlplane\": etcd decides by majority."
  }
  validation {
    condition     = alltrue([for n in var.nodes : contains(["controlplane", "worker"], n.role)])
    error_message = "role of each of nodes is \"controlplane\" or \"worker\"."
  }
  validation {
    condition     = alltrue([for name in keys(var.nodes) : can(regex("^[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?$", name))])
    error_message = "Names of nodes have at most 30 lower case letters, digits and '-'."
  }
  validation {
    condition     = alltrue([for n in var.nodes : can(regex("^[0-9a-f]{2}(:[0-9a-f]{2}){5}$", n.mac))])
    error_message = "mac of each of nodes is six pairs of lower case hexadecimal digits with ':' between them."
  }
  validation {
    condition     = length(distinct([for n in var.nodes : n.mac])) == length(var.nodes)
    error_message = "Two of nodes have the same mac."
  }
  validation {
    condition     = alltrue([for n in var.nodes : can(cidrhost(n.address, 0)) && !strcontains(n.address, ":")])
    error_message = "address of each of nodes is an IPv4 address with its prefix length, such as 192.0.2.11/24."
  }
  validation {
    condition     = length(distinct([for n in var.nodes : split("/", n.address)[0]])) == length(var.nodes)
    error_message = "Two of nodes have the same address."
  }
  validation {
    condition     = alltrue([for n in var.nodes : startswith(n.install_disk, "/dev/")])
    error_message = "install_disk of each of nodes is a device, such as /dev/nvme0n1."
  }
}

variable "images" {
  description = <<-EOT
    Each machine's image by its name: the output `images` of the module `images` for the platform "metal".
    Example: { cp-1 = { kernel = "https://factory.talos.dev/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.13.0/kernel-amd64",
    initramfs = "https://factory.talos.dev/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.13.0/initramfs-amd64.xz",
    installer = "factory.talos.dev/metal-installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:v1.13.0" } }.
  EOT
  type = map(object({
    kernel    = string
    initramfs = string
    installer = string
  }))

  validation {
    condition     = length(setsubtract(keys(var.nodes), keys(var.images))) == 0
    error_message = "images lacks one of nodes: give the output of the module images for the same machines."
  }
}
