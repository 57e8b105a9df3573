package claim

import (
	"context"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Renew returns a pointer for a message that is sent again without its body being read: the same pointer, or that of a
// copy below the folder if the object has used up more than half of the store's lifetime, or if less than stays is left
// of it, for which the message can be where it goes. A copy is a new object, which a whole lifetime is ahead of; the
// old object stays. A store that cannot tell the age of an object, or cannot copy by itself, writes the body again. The
// errors are as with Open and with a driver.Store.
func Renew(ctx context.Context, store driver.Store, folder string, p Pointer, stays time.Duration) (Pointer, error) {
	life := store.Lifetime()
	if life == 0 {
		return p, nil
	}
	copier, able := store.(driver.Copier)
	if !able {
		return rewrite(ctx, store, folder, p)
	}
	since, err := copier.Written(ctx, p.At)
	if err == nil && time.Since(since) > min(life/2, life-stays) {
		p.At, err = copier.Copy(ctx, p.At, folder)
	}
	if err != nil {
		return Pointer{}, missing(err)
	}
	return p, nil
}

// rewrite copies an object as it is, compressed or not.
func rewrite(ctx context.Context, store driver.Store, folder string, p Pointer) (Pointer, error) {
	from, size, err := store.Open(ctx, p.At)
	if err != nil {
		return Pointer{}, missing(err)
	}
	defer func() { _ = from.Close() }() // Put has compared the size
	if p.At, err = store.Put(ctx, folder, from, size); err != nil {
		return Pointer{}, err
	}
	return p, nil
}
