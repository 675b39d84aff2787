package series

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

const (
	// segmentBytes is the size from which a store begins another file.
	segmentBytes = 4 << 20
	// maxSegments bounds a store at about 1 GiB.
	maxSegments = 256
)

// ErrFull is returned where a store has no room for more points.
var ErrFull = errors.New("the store is full: move its oldest files elsewhere, or begin another folder")

// ErrConflict is returned for a point that a store has with other contents.
var ErrConflict = errors.New("the store has this point with other contents: points are never changed, so begin another folder, or leave the point out")

// ErrLocked is returned by Open while another program has the store open.
var ErrLocked = errors.New("another program adds points to this folder: try again when it has ended")

// lockName is the file that a writer locks. The lock ends with the program, and the file stays.
const lockName = ".lock"

// Store keeps points in a folder, as files of JSON lines that only grow. It has one writer at a time.
type Store struct {
	folder string
	lock   *os.File
	// known has the digest of each point's line by the digest of its identity.
	known map[[16]byte][16]byte
	// namespaces has the namespace of each series' first point by the digest of its key without one.
	namespaces map[[16]byte]string
	// segments is how many files there are, bytes the size of the last one.
	segments, bytes int
}

// Open opens the store in a folder, which it makes where it is missing, for one writer: Close ends that. A last line that has no end, because
// its writer was killed, is cut off: its point was never stored.
func Open(folder string) (*Store, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	held, err := lock(filepath.Join(folder, lockName))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	s := &Store{folder: folder, lock: held, known: map[[16]byte][16]byte{}, namespaces: map[[16]byte]string{}}
	err = mend(folder)
	if err == nil {
		err = s.each(func(p Point) error {
			line, err := encode(p)
			if err == nil {
				s.known[digest([]byte(p.id()))] = digest(line)
				// A store of both, which only another program can make, is read, and refused where it is judged.
				_ = s.note(s.namespaces, p)
			}
			return err
		})
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// lock locks a file, which it makes where it is missing.
func lock(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Close lets another writer open the store.
func (s *Store) Close() error { return s.lock.Close() }

func digest(text []byte) [16]byte {
	sum := sha256.Sum256(text)
	return [16]byte(sum[:16])
}

// segmentNames returns the files of a store in their order.
func segmentNames(folder string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(folder, "points-*.jsonl"))
	slices.Sort(found)
	return found, err
}

func segmentName(folder string, number int) string {
	return filepath.Join(folder, fmt.Sprintf("points-%06d.jsonl", number))
}

// mend cuts a line without an end off the last file.
func mend(folder string) error {
	names, err := segmentNames(folder)
	if err != nil || len(names) == 0 {
		return err
	}
	file, err := os.OpenFile(names[len(names)-1], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	end, size, err := wholeLines(file)
	if err == nil && end < size {
		err = file.Truncate(end)
	}
	return errors.Join(err, file.Close())
}

// wholeLines returns where the last whole line of a file ends, and the file's size.
func wholeLines(file *os.File) (end, size int64, err error) {
	info, err := file.Stat()
	if err != nil {
		return 0, 0, err
	}
	// The end of the last whole line is in the last MaxLineBytes, or there is none.
	from := max(0, info.Size()-MaxLineBytes)
	tail := make([]byte, info.Size()-from)
	if _, err := file.ReadAt(tail, from); err != nil && !errors.Is(err, io.EOF) {
		return 0, 0, err
	}
	return from + int64(bytes.LastIndexByte(tail, '\n')) + 1, info.Size(), nil
}

// Read returns all points of a folder in the order in which they were stored, and changes nothing: a writer may be at work.
func Read(folder string) ([]Point, error) {
	if _, err := os.Stat(folder); err != nil {
		return nil, err
	}
	return (&Store{folder: folder}).Points()
}

// each calls a function with every point, and counts files and bytes.
func (s *Store) each(do func(Point) error) error {
	names, err := segmentNames(s.folder)
	if err != nil {
		return err
	}
	total := 0
	s.segments, s.bytes = len(names), 0
	for _, name := range names {
		points, size, err := readSegment(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if total += len(points); total > MaxPoints {
			return ErrTooMany
		}
		s.bytes = size
		for _, p := range points {
			if err := do(p); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// readSegment reads the whole lines of a file.
func readSegment(name string) (points []Point, size int, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	// Nothing was written that closing could lose.
	defer func() { _ = file.Close() }()
	end, _, err := wholeLines(file)
	if err != nil {
		return nil, 0, err
	}
	points, err = ReadLines(io.LimitReader(file, end))
	return points, int(end), err
}

// Points returns all points in the order in which they were stored. One that is there twice, because two programs wrote at once, is returned once.
func (s *Store) Points() ([]Point, error) {
	var all []Point
	known := map[[16]byte]int{}
	err := s.each(func(p Point) error {
		id := digest([]byte(p.id()))
		if at, twice := known[id]; twice && equal(all[at], p) {
			return nil
		}
		known[id] = len(all)
		all = append(all, p)
		return nil
	})
	return all, err
}

// Append stores points and returns how many were new. A point that the store has already is left out, so that a caller that does
// not know whether its last call was done can call again. A series has a namespace in all of its points, or in none.
// Where one point cannot be stored, none is.
func (s *Store) Append(points ...Point) (stored int, err error) {
	added, namespaces := map[[16]byte][16]byte{}, map[[16]byte]string{}
	var lines [][]byte
	for _, p := range points {
		line, err := encode(p)
		if err != nil {
			return 0, err
		}
		id, content := digest([]byte(p.id())), digest(line)
		known, ok := s.known[id]
		if !ok {
			known, ok = added[id]
		}
		if ok && known != content {
			return 0, fmt.Errorf("point %s of run %q: %w", p.Key, p.Run, ErrConflict)
		}
		if ok {
			continue
		}
		if err := s.note(namespaces, p); err != nil {
			return 0, fmt.Errorf("point %s of run %q: %w", p.Key, p.Run, err)
		}
		added[id] = content
		lines = append(lines, line)
	}
	if len(s.known)+len(lines) > MaxPoints {
		return 0, ErrFull
	}
	if err := s.write(lines); err != nil {
		return 0, err
	}
	for id, content := range added {
		s.known[id] = content
	}
	maps.Copy(s.namespaces, namespaces)
	return len(lines), nil
}

// note adds the namespace of a point's series to those that are added, unless the series is known. It returns an error where a series has a namespace in
// some points alone: nothing says whether the others are of it.
func (s *Store) note(added map[[16]byte]string, p Point) error {
	id := digest([]byte(p.Key.bare().String()))
	first, ok := s.namespaces[id]
	if !ok {
		first, ok = added[id]
	}
	switch {
	case !ok:
		added[id] = p.Namespace
	case first != "" && p.Namespace == "":
		return fmt.Errorf("it has no namespace, and the store has this series in namespace %q: %s", first, nameIt(first))
	case first == "" && p.Namespace != "":
		return fmt.Errorf("the store has this series without a namespace: begin another folder, and import the points of this one there with --namespace %s where they are of it", p.Namespace)
	}
	return nil
}

// write adds lines to the last file, or to a new one where that is long. The lines of one call are in one file, and are on the disk
// when it returns.
func (s *Store) write(lines [][]byte) error {
	if len(lines) == 0 {
		return nil
	}
	if s.segments == 0 || s.bytes >= segmentBytes {
		if s.segments == maxSegments {
			return ErrFull
		}
		s.segments, s.bytes = s.segments+1, 0
	}
	file, err := os.OpenFile(segmentName(s.folder, s.segments), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	text := bytes.Join(lines, nil)
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		s.bytes += len(text)
	}
	return errors.Join(err, file.Close())
}
