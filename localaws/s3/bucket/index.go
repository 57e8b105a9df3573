package bucket

import (
	"slices"
	"sort"
)

// chunkLimit is the most objects of a chunk: an insertion moves this many pointers at most, and a million objects are
// a few thousand chunks.
const chunkLimit = 512

// index is a bucket's objects, ordered by the bytes of their keys: a list of short sorted lists. The zero index is
// empty.
type index struct {
	chunks [][]*Object // none is empty
	count  int
}

// position is where an object is, or belongs. It is valid until the index is modified.
type position struct{ chunk, at int }

// seek returns the position of the first object whose key is not less than key.
func (x *index) seek(key string) position {
	chunk := sort.Search(len(x.chunks), func(i int) bool {
		c := x.chunks[i]
		return c[len(c)-1].Key >= key
	})
	if chunk == len(x.chunks) {
		return position{chunk, 0}
	}
	c := x.chunks[chunk]
	return position{chunk, sort.Search(len(c), func(i int) bool { return c[i].Key >= key })}
}

// at returns the object at a position; nil: the position is the end.
func (x *index) at(p position) *Object {
	if p.chunk >= len(x.chunks) {
		return nil
	}
	return x.chunks[p.chunk][p.at]
}

// next returns the following position.
func (x *index) next(p position) position {
	if p.at+1 < len(x.chunks[p.chunk]) {
		return position{p.chunk, p.at + 1}
	}
	return position{p.chunk + 1, 0}
}

// get returns the object with a key, or nil.
func (x *index) get(key string) *Object {
	if o := x.at(x.seek(key)); o != nil && o.Key == key {
		return o
	}
	return nil
}

// put adds an object, and returns the object that it replaces, or nil.
func (x *index) put(o *Object) *Object {
	p := x.seek(o.Key)
	if old := x.at(p); old != nil && old.Key == o.Key {
		x.chunks[p.chunk][p.at] = o
		return old
	}
	x.count++
	if p.chunk == len(x.chunks) { // behind the last object
		if len(x.chunks) == 0 || len(x.chunks[p.chunk-1]) >= chunkLimit {
			x.chunks = append(x.chunks, append(make([]*Object, 0, chunkLimit), o))
			return nil
		}
		p = position{p.chunk - 1, len(x.chunks[p.chunk-1])}
	}
	x.chunks[p.chunk] = slices.Insert(x.chunks[p.chunk], p.at, o)
	if c := x.chunks[p.chunk]; len(c) > chunkLimit {
		half := len(c) / 2
		upper := append(make([]*Object, 0, chunkLimit), c[half:]...)
		clear(c[half:])
		x.chunks[p.chunk] = c[:half]
		x.chunks = slices.Insert(x.chunks, p.chunk+1, upper)
	}
	return nil
}

// remove removes and returns the object with a key, or nil.
func (x *index) remove(key string) *Object {
	p := x.seek(key)
	old := x.at(p)
	if old == nil || old.Key != key {
		return nil
	}
	x.count--
	x.chunks[p.chunk] = slices.Delete(x.chunks[p.chunk], p.at, p.at+1)
	if len(x.chunks[p.chunk]) == 0 {
		x.chunks = slices.Delete(x.chunks, p.chunk, p.chunk+1)
	}
	return old
}
