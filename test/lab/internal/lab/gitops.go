package lab

import (
	"context"

	"vnfbench.io/test/lab/internal/gitops"
	"vnfbench.io/test/lab/internal/image"
)

// Flux returns a directory with the archives and the manifest of Flux's controllers. It needs no running node.
func (l Lab) Flux(ctx context.Context) (string, error) {
	return l.gitops().Make(ctx, gitops.Flux)
}

// ArgoCD returns a directory with the archive and the manifest of Argo CD's application controller and repository server, which calls
// the programs helm and kustomize of those paths. It needs no running node, but root for the image's Debian tree.
func (l Lab) ArgoCD(ctx context.Context, helm, kustomize string) (string, error) {
	return l.gitops().Make(ctx, gitops.ArgoCD, image.File{Source: helm, Destination: "helm"}, image.File{Source: kustomize, Destination: "kustomize"})
}

func (l Lab) gitops() gitops.Maker {
	return gitops.Maker{Builder: l.builder(), Trees: l.rootfs(), Cache: l.cache(), Log: l.Log}
}
