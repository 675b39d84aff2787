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

    Of these, the module `images` puts the kernel's arguments into the image, and this module
    configures the kubelet.

    - `installer_image`: the image by which Talos installs itself on `install_disk`.
    - `config_patches`: further patches of this machine's configuration, after those of all.
    - `reset_on_removal`: whether a machine that leaves erases its own state.
  EOT
  type = map(object({
    role             = string
    address          = string
    install_disk     = string
    installer_image  = string
    labels           = map(string)
    config_patches   = optional(list(string), [])
    reset_on_removal = optional(bool, true)
    measurement = optional(object({
      reserved_cpus       = string
      isolated_cpus       = string
      hugepages_2mi       = number
      hugepages_1gi       = number
      reserved_memory_mib = number
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
  validation {
    condition     = alltrue([for n in var.nodes : can(regex("^[A-Za-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)+(:[A-Za-z0-9_.-]+)?(@[a-z0-9]+:[0-9a-f]+)?$", n.installer_image))])
    error_message = "installer_image of nodes is a host and a path with a tag or digest, without scheme, such as registry.example.com/siderolabs/installer:v1.13.0."
  }
  validation {
    condition = alltrue(flatten([for n in var.nodes : [for patch in n.config_patches : [
      for document in split("\n---", "\n${patch}") :
      trimspace(replace(document, "/(?m)^\\s*#.*$/", "")) == "" || can(keys(yamldecode(document)))
    ]]]))
    error_message = "Each of config_patches of nodes is YAML documents, each a mapping, such as \"machine: { sysctls: { kernel.panic: '5' } }\". Talos takes no lists of JSON patches: write what they change as a mapping."
  }
}

variable "talos_version" {
  description = "Version of Talos whose configuration is made. Example: \"v1.13.0\"."
  type        = string

  validation {
    # Older ones have no documents for host names and registries' mirrors.
    condition     = try(tonumber(regex("^v1\\.([0-9]+)\\.[0-9]+$", var.talos_version)[0]) >= 12, false)
    error_message = "talos_version is v1.MINOR.PATCH, such as v1.13.0, and at least v1.12.0."
  }
}

variable "kubernetes_version" {
  description = "Version of Kubernetes, one that the Talos version supports. Example: \"1.34.10\"."
  type        = string

  validation {
    condition     = can(regex("^1\\.[0-9]+\\.[0-9]+$", var.kubernetes_version))
    error_message = "kubernetes_version is 1.MINOR.PATCH, such as 1.34.10."
  }
  validation {
    # The machine refuses the others. A Talos that is not in the table yet decides by itself.
    condition = try(
      tonumber(split(".", var.kubernetes_version)[1]) >= local.kubernetes[split(".", var.talos_version)[1]].min_minor
      && tonumber(split(".", var.kubernetes_version)[1]) <= local.kubernetes[split(".", var.talos_version)[1]].max_minor,
    true)
    error_message = "This Talos refuses kubernetes_version: Talos 1.12 takes Kubernetes 1.30 to 1.35, and Talos 1.13 takes 1.31 to 1.36."
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

variable "registry_mirrors" {
  description = "Mirrors of registries of images, by the registry's name: the machines ask them first, in this order. Example: { \"registry.k8s.io\" = [\"https://mirror.example.com\"] }."
  type        = map(list(string))
  default     = {}

  validation {
    condition     = alltrue([for registry, urls in var.registry_mirrors : length(urls) > 0 && alltrue([for url in urls : can(regex("^https?://[^/[:space:]]+", url))])])
    error_message = "Each of registry_mirrors names at least one address with its scheme, such as https://mirror.example.com."
  }
}

variable "graceful_removal" {
  description = "Whether a machine that is removed is drained before it is erased. It is for workers: set and apply it before you remove one of a cluster that stays, and take it back before `terraform destroy`. A control plane node leaves etcd too, which the last member cannot."
  type        = bool
  default     = false
}

variable "wait_for_health" {
  description = "Whether a plan or an apply waits, at most 15 minutes, until etcd, the API server and exactly the machines of `nodes` are ready. Addons are installed after that. Say `-var wait_for_health=false` to change or destroy a cluster that is not healthy, and to remove a machine, whose Node Kubernetes keeps until you delete it."
  type        = bool
  default     = true
}

variable "config_patches" {
  description = "Further patches of every machine's configuration, as YAML documents. Example: [\"machine: { sysctls: { kernel.panic: '5' } }\"]."
  type        = list(string)
  default     = []

  validation {
    # Talos takes several documents in one string, and no JSON patches, which are lists. What is in them is its own to judge.
    condition = alltrue(flatten([for patch in var.config_patches : [
      for document in split("\n---", "\n${patch}") :
      trimspace(replace(document, "/(?m)^\\s*#.*$/", "")) == "" || can(keys(yamldecode(document)))
    ]]))
    error_message = "Each of config_patches is YAML documents, each a mapping, such as \"machine: { sysctls: { kernel.panic: '5' } }\". Talos takes no lists of JSON patches: write what they change as a mapping."
  }
}
