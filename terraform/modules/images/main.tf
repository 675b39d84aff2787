locals {
  # Arguments of the kernel for each machine. Intel's are there for each CPU: on another
  # maker's the kernel has no use for them. Talos' kernel has no nohz_full, no rcu_nocbs and
  # no lockup detectors.
  kernel_args = { for name, node in var.nodes : name => concat(
    node.measurement == null ? [] : [
      # The scheduler and managed interrupts leave these CPUs alone.
      "isolcpus=managed_irq,domain,${node.measurement.isolated_cpus}",
      "irqaffinity=${node.measurement.reserved_cpus}",
      # Devices can be passed through, and the node's own are not slowed by it. AMD's IOMMU
      # is on by itself where the firmware has it on, and has no such argument.
      "intel_iommu=on",
      "iommu=pt",
      # One frequency and no deep sleep: a core that wakes up is late.
      "cpufreq.default_governor=performance",
      "intel_pstate=disable",
      "intel_idle.max_cstate=0",
      "processor.max_cstate=1",
      "transparent_hugepage=never",
    ],
    try(node.measurement.hugepages_1gi, 0) > 0 ? ["hugepagesz=1G", "hugepages=${node.measurement.hugepages_1gi}"] : [],
    try(node.measurement.hugepages_2mi, 0) > 0 ? ["hugepagesz=2M", "hugepages=${node.measurement.hugepages_2mi}"] : [],
    node.kernel_args,
  ) }

  # What the image factory is asked for, as text; absent for a schematic that is there already.
  schematics = { for name, node in var.nodes : name => yamlencode({ customization = merge(
    length(local.kernel_args[name]) > 0 ? { extraKernelArgs = local.kernel_args[name] } : {},
    length(var.extensions) > 0 ? { systemExtensions = { officialExtensions = sort(var.extensions) } } : {},
  ) }) if node.schematic_id == null }

  # Machines with the same arguments share an image: they are of one class. Its name
  # follows from what it asks for, so that it is known before the factory answers.
  classes = { for name, node in var.nodes : name => substr(node.schematic_id == null ? sha256(local.schematics[name]) : node.schematic_id, 0, 12) }

  schematic_ids = { for name, node in var.nodes : name =>
    node.schematic_id == null ? talos_image_factory_schematic.class[local.classes[name]].id : node.schematic_id
  }
}

# The factory keeps it for good and gives the same id for the same text.
resource "talos_image_factory_schematic" "class" {
  for_each = { for class, texts in { for name, text in local.schematics : local.classes[name] => text... } : class => texts[0] }

  schematic = each.value
}

# Addresses are computed from the arguments; nothing is asked over the network.
data "talos_image_factory_urls" "class" {
  for_each = { for class, ids in { for name, id in local.schematic_ids : local.classes[name] => id... } : class => ids[0] }

  talos_version = var.talos_version
  schematic_id  = each.value
  platform      = var.platform
}
