package bucket

import (
	"errors"
	"strings"
	"sync"
	"time"
)

// The errors of a bucket.
var (
	ErrNoBucket     = errors.New("bucket: the bucket does not exist")
	ErrNoObject     = errors.New("bucket: the object does not exist")
	ErrNoUpload     = errors.New("bucket: the upload does not exist")
	ErrNotEmpty     = errors.New("bucket: the bucket is not empty")
	ErrExists       = errors.New("bucket: the bucket exists")
	ErrPrecondition = errors.New("bucket: the object does not satisfy the condition")
	ErrRace         = errors.New("bucket: another request has changed the object")
)

// identity is what never changes about a bucket.
type identity struct {
	account string
	name    string
	region  string
	created time.Time
}

// Name returns the bucket's name.
func (i *identity) Name() string { return i.name }

// Account returns the account that the bucket belongs to.
func (i *identity) Account() string { return i.account }

// Region returns the bucket's region.
func (i *identity) Region() string { return i.region }

// Created returns when the bucket was created.
func (i *identity) Created() time.Time { return i.created }

// Bucket is one bucket. It is safe for concurrent use.
type Bucket struct {
	identity
	keeper *keeper // nil: nothing is kept

	mu        sync.RWMutex
	gone      bool
	settings  *Settings // replaced as a whole
	sequence  uint64    // number of changes
	objects   index
	bytes     int64
	uploads   map[string]*Upload
	completed []completed // the latest last
	watches   map[string]map[*Watch]struct{}
}

func newBucket(account, name, region string, created time.Time, s *Settings) *Bucket {
	return &Bucket{
		identity: identity{account, name, region, created}, settings: s, uploads: map[string]*Upload{},
		watches: map[string]map[*Watch]struct{}{},
	}
}

// Count returns the number of objects and their bytes.
func (b *Bucket) Count() (objects int, bytes int64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.objects.count, b.bytes
}

// Object returns the object with a key, or nil. Its content may be dropped at any time; use Open to read it.
func (b *Bucket) Object(key string) *Object {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.objects.get(key)
}

// Open returns the object with a key, or nil. The caller is a user of its content, and must release it.
func (b *Bucket) Open(key string) *Object {
	b.mu.RLock()
	defer b.mu.RUnlock()
	o := b.objects.get(key)
	if o != nil {
		o.Content.Retain()
	}
	return o
}

// List returns a page of objects. Its cost grows with the page, not with the bucket.
func (b *Bucket) List(q Query) Page {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var page Page
	for at := b.objects.first(q); ; {
		o := b.objects.at(at)
		if o == nil || !strings.HasPrefix(o.Key, q.Prefix) {
			return page
		}
		if len(page.Objects)+len(page.Groups) == q.Limit {
			page.More = q.Limit > 0
			return page
		}
		group, grouped := q.Group(o.Key)
		if !grouped {
			page.Objects, page.Last = append(page.Objects, o), o.Key
			at = b.objects.next(at)
			continue
		}
		page.Groups, page.Last = append(page.Groups, group), group
		at = b.objects.behind(group)
	}
}

// Put writes an object if the condition holds. It takes over the object's content, also if it fails.
func (b *Bucket) Put(o *Object, c Condition, w *Watch) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := c.check(b.objects.get(o.Key), w)
	if err == nil {
		err = b.apply(putObject{o})
	}
	if err != nil {
		o.Content.Release()
	}
	return err
}

// Deleted is an object that was removed; nil: there was none. Sequence is the number of the change.
type Deleted struct {
	*Object
	Sequence uint64
}

// Delete removes an object if check, which may be nil, returns no error for it.
func (b *Bucket) Delete(key string, check func(*Object) error) (Deleted, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.objects.get(key)
	if check != nil {
		if err := check(old); err != nil {
			return Deleted{}, err
		}
	}
	err := b.apply(deleteObject{key})
	return Deleted{old, b.sequence}, err
}

// Alter replaces what a client says about an object with a modified copy.
func (b *Bucket) Alter(key string, alter func(*Properties)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.objects.get(key)
	if old == nil {
		return ErrNoObject
	}
	changed := *old
	alter(&changed.Properties)
	changed.Content.Retain()
	return b.apply(putObject{&changed})
}

// Settings returns the bucket's settings, which must not be modified.
func (b *Bucket) Settings() *Settings {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.settings
}

// Configure replaces the settings with a modified copy.
func (b *Bucket) Configure(alter func(*Settings)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	set := *b.settings
	alter(&set)
	return b.apply(configure{&set})
}

// Sweep removes what the lifecycle ends at now, and returns the objects that it removed.
func (b *Bucket) Sweep(now time.Time) []Deleted {
	b.mu.Lock()
	defer b.mu.Unlock()
	set := b.settings
	if len(set.Lifecycle) == 0 {
		return nil
	}
	var expired []Deleted
	for at := (position{}); b.objects.at(at) != nil; at = b.objects.next(at) {
		o := b.objects.at(at)
		if t, _, ok := set.Expiry(o); ok && !t.After(now) {
			expired = append(expired, Deleted{Object: o})
		}
	}
	for i := range expired {
		_ = b.apply(deleteObject{expired[i].Key}) // a bucket that is gone has no objects
		expired[i].Sequence = b.sequence
	}
	for id, u := range b.uploads {
		if t, _, ok := set.Abortion(u); ok && !t.After(now) {
			_ = b.apply(endUpload{id})
		}
	}
	return expired
}

// change applies a change that has no condition.
func (b *Bucket) change(c Change) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.apply(c)
}

// apply makes a change. It is the only function that modifies a bucket. The caller holds the lock.
func (b *Bucket) apply(c Change) error {
	if b.gone {
		return ErrNoBucket
	}
	b.sequence++
	return c.of(b)
}

// dropped frees an object that is no longer in the bucket.
func (b *Bucket) dropped(o *Object) {
	if o != nil {
		b.bytes -= o.Size()
		o.Content.Release()
	}
}
