package claim

import (
	"context"
	"encoding/json"

	"github.com/godwitmq/godwit/driver"
)

// Ours reports whether Godwit wrote a pointer. The objects of other programs have a lifetime that no store here knows.
func (p Pointer) Ours() bool { return p.SHA256 != "" }

// Copy copies the object of a pointer to one below a folder, whatever its age, and returns the pointer to that. The
// errors are as with [Renew].
func Copy(ctx context.Context, store driver.Store, folder string, p Pointer) (Pointer, error) {
	copier, able := store.(driver.Copier)
	if !able {
		return rewrite(ctx, store, folder, p)
	}
	at, err := copier.Copy(ctx, p.At, folder)
	if err != nil {
		return Pointer{}, missing(err)
	}
	p.At = at
	return p, nil
}

// Moved returns the text of a pointer with another place. Its class and all other fields stay, so its readers are the
// same.
func Moved(text string, to driver.Location) (string, error) {
	var parts, place []json.RawMessage
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &parts) != nil || len(parts) != 2 ||
		json.Unmarshal(parts[1], &fields) != nil || fields == nil {
		return "", noPointer("the body is not a list of a class and an object")
	}
	for _, value := range []string{to.Bucket, to.Key} {
		one, err := json.Marshal(value)
		if err != nil {
			return "", err
		}
		place = append(place, one)
	}
	fields["s3BucketName"], fields["s3Key"] = place[0], place[1]
	out, err := json.Marshal([]any{parts[0], fields})
	return string(out), err
}
