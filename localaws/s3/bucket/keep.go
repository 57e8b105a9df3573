package bucket

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/localaws/keep"
)

// The keys of records. A name of a bucket has no zero byte, and no slash.
const (
	bucketRecord = "bucket/"
	objectRecord = "object/" // bucket, 0, key
	uploadRecord = "upload/" // bucket, 0, id
	partRecord   = "part/"   // bucket, 0, id, 0, number
	blobRecord   = "blob/"   // id, number of the piece
)

// piece is the most bytes of a blob in one record.
const piece = 8 << 20

// keeper writes the records of all buckets. A nil keeper writes nothing.
type keeper struct {
	store  keep.Store
	epoch  uint32        // number of the server's start
	blobs  atomic.Uint64 // number of blobs of this start
	closed atomic.Bool   // what is freed in memory is still kept
}

func (k *keeper) put(key string, v any) {
	if k == nil || k.closed.Load() {
		return
	}
	b, err := json.Marshal(v)
	if err != nil { // texts, numbers and times within years that JSON has
		panic("bucket: a record cannot be written: " + err.Error())
	}
	k.store.Write(keep.Change{Key: key, Value: b})
}

func (k *keeper) drop(key string) {
	if k != nil && !k.closed.Load() {
		k.store.Write(keep.Change{Key: key})
	}
}

// keptBucket is the record of a bucket without its content.
type keptBucket struct {
	Account, Name, Region string
	Created               time.Time
	Settings              *Settings
}

func (k *keeper) bucket(b *Bucket) {
	k.put(bucketRecord+b.name, keptBucket{b.account, b.name, b.region, b.created, b.settings})
}

// keptSlice is a slice of a blob.
type keptSlice struct {
	Blob           uint64
	Offset, Length int64
}

func keptSlices(c Content) []keptSlice {
	var all []keptSlice
	for _, s := range c.slices {
		if b, ok := s.Blob.(*keptBlob); ok {
			all = append(all, keptSlice{b.id, s.Offset, s.Length})
		}
	}
	return all
}

// keptObject is the record of an object.
type keptObject struct {
	Bucket string
	Object *Object
	Slices []keptSlice
}

func (k *keeper) object(b *Bucket, o *Object) {
	if k != nil {
		k.put(objectRecord+b.name+"\x00"+o.Key, keptObject{b.name, o, keptSlices(o.Content)})
	}
}

func (k *keeper) dropObject(b *Bucket, key string) { k.drop(objectRecord + b.name + "\x00" + key) }

// keptUpload is the record of an upload without its parts.
type keptUpload struct {
	Bucket string
	Upload *Upload
}

func (k *keeper) upload(b *Bucket, u *Upload) {
	k.put(uploadRecord+b.name+"\x00"+u.ID, keptUpload{b.name, u})
}

// dropUpload forgets an upload and its parts.
func (k *keeper) dropUpload(b *Bucket, u *Upload) {
	k.drop(uploadRecord + b.name + "\x00" + u.ID)
	for n := range u.parts {
		k.drop(partKey(b, u.ID, n))
	}
}

// keptPart is the record of a part.
type keptPart struct {
	Bucket, Upload string
	Part           *Part
	Slices         []keptSlice
}

func (k *keeper) part(b *Bucket, upload string, p *Part) {
	if k != nil {
		k.put(partKey(b, upload, p.Number), keptPart{b.name, upload, p, keptSlices(p.Content)})
	}
}

func partKey(b *Bucket, upload string, n int) string {
	return fmt.Sprintf("%s%s\x00%s\x00%d", partRecord, b.name, upload, n)
}

// keptBlob is a blob whose bytes are kept until its last user has released it.
type keptBlob struct {
	Blob
	keeper *keeper
	id     uint64
	size   int64
	users  atomic.Int64
}

func (b *keptBlob) Retain() { b.users.Add(1) }

func (b *keptBlob) Release() {
	if b.users.Add(-1) > 0 {
		return
	}
	b.forget()
	b.Blob.Release()
}

// forget deletes the records of the bytes.
func (b *keptBlob) forget() {
	for n := int64(0); n*piece < max(b.size, 1); n++ {
		b.keeper.drop(blobKey(b.id, n))
	}
}

func blobKey(id uint64, n int64) string {
	b := binary.BigEndian.AppendUint64([]byte(blobRecord), id)
	return string(binary.BigEndian.AppendUint64(b, uint64(n)))
}

// blob keeps the bytes of a blob. Pieces of a large one are waited for, so that few are in memory.
func (k *keeper) blob(b Blob, size int64) Blob {
	if k == nil {
		return b
	}
	kept := &keptBlob{Blob: b, keeper: k, id: uint64(k.epoch)<<32 | k.blobs.Add(1), size: size}
	kept.users.Store(1)
	for n := int64(0); n*piece < max(size, 1); n++ {
		value := binary.BigEndian.AppendUint64(nil, uint64(size))
		bytes := make([]byte, min(piece, size-n*piece))
		if got, err := b.ReadAt(bytes, n*piece); got < len(bytes) {
			// The record then has another length than it says, which is noticed at the next start.
			bytes = bytes[:0]
			_ = err
		}
		k.store.Write(keep.Change{Key: blobKey(kept.id, n), Value: append(value, bytes...)})
		if n > 0 {
			_ = k.store.Sync() // the call syncs as well, and gets the error
		}
	}
	return kept
}

// Storage is a blob that is filled before it is read.
type Storage interface {
	Blob
	WriteAt(p []byte, offset int64) (int, error)
}

// Kept is what was kept of the buckets.
type Kept struct {
	// Blob returns a blob of a size.
	Blob func(size int64) (Storage, error)

	buckets []keptBucket
	objects []keptObject
	uploads []keptUpload
	parts   []keptPart
	blobs   map[uint64]*arriving
}

// arriving is a blob whose pieces are read.
type arriving struct {
	storage    Storage
	size, have int64
	kept       *keptBlob
}

// Add adds a record. ok is false if it is not one of a bucket.
func (k *Kept) Add(key string, value []byte) (ok bool, err error) {
	kind, rest, _ := strings.Cut(key, "/")
	switch kind + "/" {
	case bucketRecord:
		k.buckets = append(k.buckets, keptBucket{})
		return true, json.Unmarshal(value, &k.buckets[len(k.buckets)-1])
	case objectRecord:
		k.objects = append(k.objects, keptObject{})
		return true, json.Unmarshal(value, &k.objects[len(k.objects)-1])
	case uploadRecord:
		k.uploads = append(k.uploads, keptUpload{})
		return true, json.Unmarshal(value, &k.uploads[len(k.uploads)-1])
	case partRecord:
		k.parts = append(k.parts, keptPart{})
		return true, json.Unmarshal(value, &k.parts[len(k.parts)-1])
	case blobRecord:
		return true, k.piece(rest, value)
	}
	return false, nil
}

func (k *Kept) piece(key string, value []byte) error {
	if len(key) != 16 || len(value) < 8 {
		return fmt.Errorf("bucket: the record of a blob cannot be read")
	}
	id, n := binary.BigEndian.Uint64([]byte(key)), int64(binary.BigEndian.Uint64([]byte(key[8:])))
	size := int64(binary.BigEndian.Uint64(value))
	a := k.blobs[id]
	if a == nil {
		storage, err := k.Blob(size)
		if err != nil {
			return err
		}
		if k.blobs == nil {
			k.blobs = map[uint64]*arriving{}
		}
		a = &arriving{storage: storage, size: size}
		k.blobs[id] = a
	}
	a.have += int64(len(value) - 8)
	_, err := a.storage.WriteAt(value[8:], n*piece)
	return err
}

// Restore makes a store without buckets keep its changes, and creates what was kept. An object whose bytes cannot be
// read is left out, and its record stays.
func (k *Kept) Restore(s *Store, to keep.Store, epoch uint32, log *slog.Logger) {
	s.keeper = &keeper{store: to, epoch: epoch}
	for id, a := range k.blobs {
		a.kept = &keptBlob{Blob: a.storage, keeper: s.keeper, id: id, size: a.size}
	}
	for _, kept := range k.buckets {
		b := newBucket(kept.Account, kept.Name, kept.Region, kept.Created, kept.Settings)
		b.keeper, b.sequence = s.keeper, uint64(epoch)<<40 // above those of earlier starts
		s.buckets[b.name] = b
	}
	dropped := func(key string) bool { // what a crash has left of something that was deleted
		if !to.Damaged() {
			s.keeper.drop(key)
		}
		return !to.Damaged()
	}
	for _, kept := range k.objects {
		if s.buckets[kept.Bucket] == nil && dropped(objectRecord+kept.Bucket+"\x00"+kept.Object.Key) {
			continue
		}
		if b, c, ok := k.content(s, kept.Bucket, kept.Slices); ok {
			kept.Object.Content = c
			b.objects.put(kept.Object)
			b.bytes += c.size
		} else {
			log.Error("s3: an object cannot be read, and is left out", "bucket", kept.Bucket, "key", kept.Object.Key)
		}
	}
	for _, kept := range k.uploads {
		if b := s.buckets[kept.Bucket]; b != nil {
			u := kept.Upload
			u.parts, u.watch = map[int]*Part{}, b.watch(u.Key)
			b.uploads[u.ID] = u
		} else {
			dropped(uploadRecord + kept.Bucket + "\x00" + kept.Upload.ID)
		}
	}
	for _, kept := range k.parts {
		b := s.buckets[kept.Bucket]
		if (b == nil || b.uploads[kept.Upload] == nil) &&
			dropped(fmt.Sprintf("%s%s\x00%s\x00%d", partRecord, kept.Bucket, kept.Upload, kept.Part.Number)) {
			continue
		}
		b, c, ok := k.content(s, kept.Bucket, kept.Slices)
		if !ok || b.uploads[kept.Upload] == nil {
			log.Error("s3: a part cannot be read, and is left out", "bucket", kept.Bucket, "upload", kept.Upload)
			c.Release()
			continue
		}
		kept.Part.Content = c
		b.uploads[kept.Upload].parts[kept.Part.Number] = kept.Part
	}
	for _, a := range k.blobs {
		if a.kept.users.Load() == 0 && !to.Damaged() { // written before a crash, and never used
			a.kept.Retain()
			a.kept.Release()
		}
	}
	*k = Kept{}
}

// content returns the bytes of an object or a part, as one of their users.
func (k *Kept) content(s *Store, bucket string, slices []keptSlice) (b *Bucket, c Content, ok bool) {
	b = s.buckets[bucket]
	for _, slice := range slices {
		a := k.blobs[slice.Blob]
		if a == nil || a.have != a.size || slice.Offset+slice.Length > a.size {
			return nil, Content{}, false
		}
		c.slices = append(c.slices, Slice{Blob: a.kept, Offset: slice.Offset, Length: slice.Length})
		c.size += slice.Length
	}
	if b != nil {
		c.Retain()
	}
	return b, c, b != nil
}
