// Package configmaptest simulates a run's results as the API server keeps them, for tests: one ConfigMap
// with merge patches, versions, conflicts, and outages on request, and those that server-side apply makes
// next to it.
package configmaptest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var resource = schema.GroupResource{Resource: "configmaps"}

// Server holds one ConfigMap, and the chunks that were applied next to it. It is a ConfigMap client and an
// http.Handler.
type Server struct {
	mu      sync.Mutex
	object  *corev1.ConfigMap
	chunks  map[string]*corev1.ConfigMap
	version int
	writes  int
	bytes   int
	fault   func(body []byte) (before, after error)
}

// New returns a server with an empty ConfigMap.
func New(namespace, name string) *Server {
	return &Server{version: 1, chunks: map[string]*corev1.ConfigMap{}, object: &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid-1", ResourceVersion: "1"},
	}}
}

// Fault sets a function that is called before every patch: an error before prevents the patch, an
// error after hides its answer. nil ends the faults.
func (s *Server) Fault(fault func(body []byte) (before, after error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// Writes returns how many patches changed something.
func (s *Server) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// Bytes returns what all patches made the store of an API server write: for each, the whole object.
func (s *Server) Bytes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// Get returns a copy of the ConfigMap, or of a chunk, as trialstore.Get does.
func (s *Server) Get(name string, _ types.UID) (*corev1.ConfigMap, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.named(name); found != nil {
		return found.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(resource, name)
}

// SetChunk replaces a chunk as another client would; nil deletes it.
func (s *Server) SetChunk(name string, object *corev1.ConfigMap) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chunks[name] = object; object == nil {
		delete(s.chunks, name)
	}
}

// Chunks returns how many there are.
func (s *Server) Chunks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.chunks)
}

func (s *Server) named(name string) *corev1.ConfigMap {
	if s.object != nil && s.object.Name == name {
		return s.object
	}
	return s.chunks[name]
}

// All returns a copy of what is stored, with the records of the chunks.
func (s *Server) All() map[string]string {
	all := s.Data()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, chunk := range s.chunks {
		maps.Copy(all, chunk.Data)
	}
	return all
}

// Data returns a copy of what is stored, without the chunks.
func (s *Server) Data() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.object.DeepCopy().Data
}

// Edit changes the object as another client would.
func (s *Server) Edit(change func(*corev1.ConfigMap)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.object.Data == nil {
		s.object.Data = map[string]string{}
	}
	change(s.object)
	s.bump()
}

// Delete removes the object.
func (s *Server) Delete() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.object = nil
}

func (s *Server) bump() {
	s.version++
	s.object.ResourceVersion = strconv.Itoa(s.version)
}

// Patch implements a ConfigMap client's Patch with a merge patch, or with server-side apply to a chunk.
func (s *Server) Patch(ctx context.Context, name string, pt types.PatchType, body []byte, _ metav1.PatchOptions, _ ...string) (*corev1.ConfigMap, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var before, after error
	if s.fault != nil {
		before, after = s.fault(body)
	}
	if before != nil {
		return nil, before
	}
	change := s.merge
	if pt == types.ApplyPatchType {
		change = s.makeChunk
	}
	patched, err := change(name, pt, body)
	if err != nil {
		return nil, err
	}
	return patched, after
}

func (s *Server) merge(name string, pt types.PatchType, body []byte) (*corev1.ConfigMap, error) {
	if pt != types.MergePatchType {
		return nil, apierrors.NewBadRequest("only merge patches are understood here")
	}
	if chunk := s.chunks[name]; chunk != nil && string(body) == "{}" {
		return chunk.DeepCopy(), nil
	}
	if s.object == nil || s.object.Name != name {
		return nil, apierrors.NewNotFound(resource, name)
	}
	var patch struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Data map[string]*string `json:"data"`
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&patch); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if version := patch.Metadata.ResourceVersion; version != "" && version != s.object.ResourceVersion {
		return nil, apierrors.NewConflict(resource, name, errors.New("the object has been modified"))
	}
	if s.apply(patch.Data) {
		s.writes++
		s.bump()
		s.bytes += size(s.object)
	}
	return s.object.DeepCopy(), nil
}

// makeChunk applies a chunk. All applies are of one field manager.
func (s *Server) makeChunk(name string, _ types.PatchType, body []byte) (*corev1.ConfigMap, error) {
	wanted := &corev1.ConfigMap{}
	if err := json.Unmarshal(body, wanted); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if wanted.Name != name || wanted.Kind != "ConfigMap" || wanted.Immutable == nil || !*wanted.Immutable {
		return nil, apierrors.NewBadRequest("it is no chunk")
	}
	before := s.chunks[name]
	switch {
	case before == nil:
		s.version++
		s.writes++
		s.bytes += size(wanted)
		wanted.UID, wanted.ResourceVersion = types.UID(fmt.Sprintf("uid-of-%s-%d", name, s.version)), strconv.Itoa(s.version)
		s.chunks[name] = wanted
	case !maps.Equal(before.Data, wanted.Data):
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, name, nil)
	}
	return s.chunks[name].DeepCopy(), nil
}

func size(object *corev1.ConfigMap) int {
	total := 0
	for key, value := range object.Data {
		total += len(key) + len(value)
	}
	return total
}

// apply merges as RFC 7396 says: null removes a key. It reports whether anything changed.
func (s *Server) apply(data map[string]*string) bool {
	changed := false
	for key, value := range data {
		before, found := s.object.Data[key]
		switch {
		case value == nil && found:
			delete(s.object.Data, key)
			changed = true
		case value != nil && (!found || before != *value):
			if s.object.Data == nil {
				s.object.Data = map[string]string{}
			}
			s.object.Data[key] = *value
			changed = true
		}
	}
	return changed
}

// ServeHTTP answers PATCH as the API server does.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(code int, value any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(value)
	}
	refuse := func(err error) {
		var status apierrors.APIStatus
		if !errors.As(err, &status) {
			status = apierrors.NewInternalError(err)
		}
		answer(int(status.Status().Code), status.Status())
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(err)
		return
	}
	if r.Method != http.MethodPatch {
		refuse(apierrors.NewForbidden(resource, "", errors.New("the role allows patch alone")))
		return
	}
	name := path.Base(r.URL.Path)
	object, err := s.Patch(r.Context(), name, types.PatchType(r.Header.Get("Content-Type")), body, metav1.PatchOptions{})
	if err != nil {
		refuse(err)
		return
	}
	answer(http.StatusOK, object)
}
