package s3store

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

const (
	day = 24 * time.Hour
	// defaultLifetime is longer than a message can be in a queue and then in the dead letters, 14 days each, and leaves
	// a month to look after the dead letters.
	defaultLifetime = 60 * day
)

// Options say which bucket a store uses, and how. Bucket is required.
type Options struct {
	// Bucket is the name of the bucket. Set it to one that no other system writes to, or set Prefix, too.
	Bucket string
	// Prefix is the beginning of the keys of all objects, as "payloads/". Set it when the bucket has other objects. "":
	// none.
	Prefix string
	// AWS is an SDK configuration (region, credentials, endpoint). Set it when the environment is not the right source.
	// nil: loaded from the environment.
	AWS *aws.Config
	// S3 is a client of the caller; nil: created from AWS. Set it when calls need middleware, credentials or an
	// endpoint of their own.
	S3 *s3.Client
	// Transport carries the requests; set it for a proxy or an in-process server. nil: the SDK's own connection pool.
	Transport http.RoundTripper
	// Encryption is the id or ARN of the KMS key that encrypts the objects. Set it when you must control the key. "":
	// S3's own keys.
	Encryption string
	// Lifetime is how long an object stays that nothing deletes, in whole days; 0: 60 days, negative: without a limit.
	// Set it to more than the retention of the queue and that of the dead letters together, or make it negative where a
	// log keeps its messages without a limit.
	Lifetime time.Duration
	// Tags are added to a bucket that the store creates. Set them when others look after the resources of the account.
	Tags map[string]string
	// Sources are where objects of other programs may be read, for example those of a program with Amazon's extended
	// client. Set it when such programs send to your channels: a message that points to any other place is rejected.
	Sources []Source
}

// Source is a place where the objects of other programs may be read.
type Source struct {
	// Bucket is the name of the bucket. Set it to the one that the other program writes to.
	Bucket string
	// Prefix is the beginning of the keys that may be read. Set it when the bucket has objects that messages must not
	// point to. "": all keys.
	Prefix string
	// Owner is the id of the account that owns the bucket. Set it when the bucket belongs to another account: a read
	// fails if the bucket was deleted and its name taken by someone else. "": it is not checked.
	Owner string
	// Delete deletes an object when its message was handled on a one-to-one channel. Set it if no other queue gets the
	// same pointers and the other program does not delete its objects.
	Delete bool
}

// check returns an error for options that cannot work, and completes the others.
func (o *Options) check() error {
	o.Lifetime = cmp.Or(o.Lifetime, defaultLifetime)
	errs := []error{checkPlace("Options", o.Bucket, o.Prefix)}
	if o.Lifetime > 0 && (o.Lifetime < day || o.Lifetime%day != 0) {
		errs = append(errs, fmt.Errorf("s3store: Options.Lifetime is %v: use whole days, or a negative value for objects "+
			"that stay", o.Lifetime))
	}
	if o.S3 != nil && o.Transport != nil {
		errs = append(errs,
			errors.New("s3store: Options.Transport has no effect beside Options.S3: give it to that client"))
	}
	for i, s := range o.Sources {
		errs = append(errs, checkPlace(fmt.Sprintf("Options.Sources[%d]", i), s.Bucket, s.Prefix))
	}
	return errors.Join(errs...)
}

// checkPlace checks the names of a bucket and a prefix.
func checkPlace(field, bucket, prefix string) error {
	if len(bucket) < 3 || len(bucket) > 63 || strings.Trim(bucket, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
		return fmt.Errorf("s3store: %s.Bucket is %q: the name of a bucket has 3 to 63 lower-case letters, digits, '.' "+
			"and '-'", field, bucket)
	}
	if !plainKey(prefix) {
		return fmt.Errorf("s3store: %s.Prefix is %q: use letters, digits, '.', '_', '-' and '/', no part that is '.' "+
			"or '..', and at most %d characters", field, prefix, maxPrefix)
	}
	return nil
}

// maxPrefix leaves room for a folder and a name in a key, which has at most 1,024 bytes.
const maxPrefix = 512

// plainKey reports whether a prefix has only characters that every program treats alike.
func plainKey(prefix string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./_-"
	return len(prefix) <= maxPrefix && strings.Trim(prefix, plain) == "" && !strings.HasPrefix(prefix, "/") &&
		straight(prefix)
}

// straight reports whether a key has no part that a program between us and S3 might resolve as in a path.
func straight(key string) bool {
	for part := range strings.SplitSeq(key, "/") {
		if part == "." || part == ".." {
			return false
		}
	}
	return true
}
