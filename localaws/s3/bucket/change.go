package bucket

import "slices"

// Change is one modification of a bucket.
type Change interface{ of(b *Bucket) error }

type (
	putObject      struct{ object *Object }
	deleteObject   struct{ key string }
	startUpload    struct{ upload *Upload }
	endUpload      struct{ id string }
	configure      struct{ settings *Settings }
	closeBucket    struct{}
	completeUpload struct {
		id      string
		request Digest
		object  *Object
	}
	putPart struct {
		upload string
		part   *Part
	}
)

func (c putObject) of(b *Bucket) error {
	c.object.Sequence = b.sequence
	old := b.objects.put(c.object)
	b.keeper.object(b, c.object)
	b.bytes += c.object.Size()
	b.dropped(old)
	b.notice(c.object.Key)
	return nil
}

func (c deleteObject) of(b *Bucket) error {
	if old := b.objects.remove(c.key); old != nil {
		b.keeper.dropObject(b, c.key)
		b.dropped(old)
		b.notice(c.key)
	}
	return nil
}

func (c startUpload) of(b *Bucket) error {
	c.upload.parts, c.upload.watch = map[int]*Part{}, b.watch(c.upload.Key)
	b.uploads[c.upload.ID] = c.upload
	b.keeper.upload(b, c.upload)
	return nil
}

func (c putPart) of(b *Bucket) error {
	u := b.uploads[c.upload]
	if u == nil {
		return ErrNoUpload
	}
	b.keeper.part(b, c.upload, c.part)
	if old := u.parts[c.part.Number]; old != nil {
		old.Content.Release()
	}
	u.parts[c.part.Number] = c.part
	return nil
}

func (c endUpload) of(b *Bucket) error {
	u := b.uploads[c.id]
	if u == nil {
		return ErrNoUpload
	}
	b.keeper.dropUpload(b, u)
	for _, p := range u.parts {
		p.Content.Release()
	}
	u.watch.end()
	delete(b.uploads, c.id)
	return nil
}

func (c completeUpload) of(b *Bucket) error {
	if b.uploads[c.id] == nil {
		return ErrNoUpload
	}
	// A crash in between leaves both, and not neither.
	if err := (putObject{c.object}).of(b); err != nil {
		return err
	}
	if len(b.completed) == maxCompleted {
		b.completed = slices.Delete(b.completed, 0, maxCompleted/10) // seldom, so that a completion stays cheap
	}
	kept := *c.object
	kept.Content, kept.Parts = Content{}, nil
	b.completed = append(b.completed, completed{c.id, c.request, kept})
	return endUpload{c.id}.of(b)
}

func (c configure) of(b *Bucket) error {
	b.settings = c.settings
	b.keeper.bucket(b)
	return nil
}

func (closeBucket) of(b *Bucket) error {
	b.gone = true
	b.keeper.drop(bucketRecord + b.name)
	for _, chunk := range b.objects.chunks {
		for _, o := range chunk {
			b.keeper.dropObject(b, o.Key)
			o.Content.Release()
		}
	}
	for _, u := range b.uploads {
		b.keeper.dropUpload(b, u)
		for _, p := range u.parts {
			p.Content.Release()
		}
	}
	b.objects, b.uploads, b.completed = index{}, map[string]*Upload{}, nil
	return nil
}
