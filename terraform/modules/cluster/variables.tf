variable "cluster_name" {
  description = "Name of the cluster. Example: \"nfv-lab\"."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,29}$", var.cluster_name))
    error_message = "cluster_name begins with a letter and has at most 30 lower case letters, digits and '-'."
  }
}

variable "endpoint" {
  description = "Where the API server is reached: the address of a control plane node, or one before all of them. Example: \"192.0.2.10\"."
  type        = string

  validation {
    condition     = can(regex("^[a-zA-Z0-9.-]+$", var.endpoint))
    error_message = "endpoint is a host name or an IPv4 address, without scheme and port."
  }
}

variable "nodes" {
  description = <<-EOT
    The machines by name: the output `nodes` of `proxmox-nodes` or `baremetal-nodes`.

    `measurement` makes a node fit for low-noise measurement. Absent: an ordinary node.
    - `reserved_cpus`: CPUs for the system and for pods without dedicated cores. Example: "0-1".
    - `isolated_cpus`: CPUs that the kernel keeps free for pods with dedicated cores. Example: "2-7".
    - `hugepages_2mi`, `hugepages_1gi`: how many pages of either size are set aside at boot.
    - `reserved_memory_mib`: memory of NUMA node 0 that pods of the class Guaranteed do not get.
    - `nested_virtualization`: virtual machines on a node that is one itself.
  EOT
  type = map(object({
    role         = string
    address      = string
    install_disk = string
    labels       = map(string)
    measurement = optional(object({
      reserved_cpus         = string
      isolated_cpus         = string
      hugepages_2mi         = number
      hugepages_1gi         = number
      reserved_memory_mib   = number
      nested_virtualization = bool
    }))
  }))

  validation {
    condition     = length([for n in var.nodes : n if n.role == "controlplane"]) % 2 == 1
    error_message = "nodes needs an odd number of machines with role \"controlplane\": etcd decides by majority."
  }
  validation {
    condition = alltrue([for n in var.nodes : n.measurement == null ? true : alltrue([
      for list in [n.measurement.reserved_cpus, n.measurement.isolated_cpus] : can(regex("^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$", list))
    ])])
    error_message = "reserved_cpus and isolated_cpus of measurement are lists of CPUs such as \"0-1\" or \"2-7,10-15\"."
  }
  validation {
    condition = alltrue([for n in var.nodes : n.measurement == null ? true : try(length(setintersection([for list in [n.measurement.reserved_cpus, n.measurement.isolated_cpus] : toset(flatten([
      for part in split(",", list) : [for cpu in range(tonumber(split("-", part)[0]), tonumber(element(split("-", part), length(split("-", part)) - 1)) + 1) : cpu]
    ]))]...)) == 0, true)])
    error_message = "reserved_cpus and isolated_cpus of measurement have a CPU in common: one that serves the system is not quiet."
  }
  validation {
    condition     = alltrue([for n in var.nodes : n.measurement == null ? true : n.measurement.reserved_memory_mib >= 500])
    error_message = "reserved_memory_mib of measurement is at least 500: the system needs it."
  }
}

variable "installer_image" {
  description = "The image by which Talos installs itself: the output of `proxmox-nodes` or `baremetal-nodes`. Example: \"factory.talos.dev/metal-installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:v1.13.0\"."
  type        = string

  validation {
    condition     = can(regex("^[A-Za-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)+(:[A-Za-z0-9_.-]+)?(@[a-z0-9]+:[0-9a-f]+)?$", var.installer_image))
    error_message = "installer_image is a host and a path with a tag or digest, without scheme, such as registry.example.com/siderolabs/installer:v1.13.0."
  }
}

variable "talos_version" {
  description = "Version of Talos whose configuration is made. Example: \"v1.13.0\"."
  type        = string

  validation {
    condition     = can(regex("^v1\\.[0-9]+\\.[0-9]+$", var.talos_version))
    error_message = "talos_version is v1.MINOR.PATCH, such as v1.13.0."
  }
}

variable "kubernetes_version" {
  description = "Version of Kubernetes. Example: \"1.37.2\"."
  type        = string

  validation {
    condition     = can(regex("^1\\.[0-9]+\\.[0-9]+$", var.kubernetes_version))
    error_message = "kubernetes_version is 1.MINOR.PATCH, such as 1.37.2."
  }
}

variable "pod_subnets" {
  description = "Networks of pods. They must not meet 198.18.0.0/15, which is for the measured traffic. Example: [\"10.244.0.0/16\"]."
  type        = list(string)
  default     = ["10.244.0.0/16"]

  validation {
    condition     = alltrue([for s in var.pod_subnets : can(cidrhost(s, 0)) && !can(regex("^198\\.1[89]\\.", s))])
    error_message = "pod_subnets are networks such as 10.244.0.0/16, and outside of 198.18.0.0/15."
  }
}

variable "service_subnets" {
  description = "Networks of services. They must not meet 198.18.0.0/15, which is for the measured traffic. Example: [\"10.96.0.0/12\"]."
  type        = list(string)
  default     = ["10.96.0.0/12"]

  validation {
    condition     = alltrue([for s in var.service_subnets : can(cidrhost(s, 0)) && !can(regex("^198\\.1[89]\\.", s))])
    error_message = "service_subnets are networks such as 10.96.0.0/12, and outside of 198.18.0.0/15."
  }
}

variable "schedule_on_control_plane" {
  description = "Whether ordinary pods may run on control plane nodes: for a lab of one machine."
  type        = bool
  default     = false
}

variable "config_patches" {
  description = "Further patches of every machine's configuration, as YAML documents. Example: [\"machine: { time: { servers: [192.0.2.1] } }\"]."
  type        = list(string)
  default     = []

  validation {
    # Talos takes several documents in one string, and lists: JSON patches. What is in them is its own to judge.
    condition = alltrue(flatten([for patch in var.config_patches : [
      for document in split("\n---", "\n${patch}") :
      trimspace(replace(document, "/(?m)^\\s*#.*$/", "")) == "" || can(keys(yamldecode(document))) || can(concat(yamldecode(document), []))
    ]]))
    error_message = "Each of config_patches is YAML, a mapping or a list of JSON patches, such as \"machine: { time: { servers: [192.0.2.1] } }\"."
  }
}
