locals {
  # Talos' own arguments of the kernel, with which each of its images starts: tests
  # compare them with Talos' library. They are those of the network boot; the
  # installed system has its own in its image.
  boot_args = [
    "initrd=initramfs.xz",
    "talos.platform=metal",
    "console=tty0",
    "init_on_alloc=1",
    "slab_nomerge=",
    "pti=on",
    "consoleblank=0",
    "nvme_core.io_timeout=4294967295",
    "printk.devkmsg=on",
    "selinux=1",
    "module.sig_enforce=1",
    "proc_mem.force_override=never",
  ]
}

# Machines boot into Talos' maintenance mode and wait there for the module
# `cluster` to send their configuration. Matchbox never holds it: it answers
# anyone who asks, and the configuration has the cluster's secrets in it.
resource "matchbox_profile" "node" {
  for_each = var.nodes

  name   = "${var.cluster_name}-${each.key}"
  kernel = var.images[each.key].kernel
  initrd = [var.images[each.key].initramfs]
  args   = concat(local.boot_args, each.value.kernel_args)
}

resource "matchbox_group" "node" {
  for_each = var.nodes

  name    = "${var.cluster_name}-${each.key}"
  profile = matchbox_profile.node[each.key].name
  selector = {
    mac = each.value.mac
  }
}
