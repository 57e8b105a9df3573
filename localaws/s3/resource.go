package s3

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
	"github.com/godwitmq/godwit/localaws/wire"
)

// BucketInput is the input of an action that needs nothing but a bucket.
type BucketInput struct {
	Bucket string `rest:"bucket"`
}

// Done is an output without content.
type Done struct {
	Status int `rest:"status"`
}

func done() *Done { return &Done{} }

// noContent is the output of actions that delete.
func noContent() *Done { return &Done{Status: 204} }

var (
	nameForm         = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	reservedPrefixes = []string{"xn--", "sthree-"}
	reservedSuffixes = []string{"-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3"}
)

func validBucketName(name string) bool {
	if !nameForm.MatchString(name) || strings.Contains(name, "..") || net.ParseIP(name) != nil {
		return false
	}
	for _, p := range reservedPrefixes {
		if strings.HasPrefix(name, p) {
			return false
		}
	}
	return !slices.ContainsFunc(reservedSuffixes, func(p string) bool { return strings.HasSuffix(name, p) })
}

func invalidBucketName(name string) error {
	return rest.Refuse(400, "InvalidBucketName", "The specified bucket is not valid.", "BucketName", name)
}

func accessDenied() error { return rest.Refuse(403, "AccessDenied", "Access Denied") }

// maxKey is the length of the longest key, in bytes.
const maxKey = 1024

func checkKey(key string) error {
	if len(key) > maxKey {
		return rest.Refuse(400, "KeyTooLongError", "Your key is too long", "Size", itoa(len(key)),
			"MaxSizeAllowed", itoa(maxKey))
	}
	return nil
}

// object returns an object of a bucket for reading its properties.
func object(b *bucket.Bucket, key, version string) (*bucket.Object, error) {
	if err := checkVersion(version); err != nil {
		return nil, err
	}
	o := b.Object(key)
	if o == nil {
		return nil, noSuchKey(key)
	}
	return o, nil
}

// checkVersion refuses every version but that of a bucket without versions.
func checkVersion(version string) error {
	if version != "" && version != "null" {
		return rest.InvalidArgument("Invalid version id specified", "versionId", version)
	}
	return nil
}

// Owner is the owner of a bucket and of what is in it.
type Owner struct {
	ID string `xml:"ID"`
}

// owner returns an account as S3 writes it.
func owner(account string) *Owner {
	sum := sha256.Sum256([]byte("localaws account " + account))
	return &Owner{ID: hex.EncodeToString(sum[:])}
}

// Initiator is the user who began an upload. Since owners lost theirs, it is the only one with a display name.
type Initiator struct {
	ID          string `xml:"ID"`
	DisplayName string
}

func initiator(b *bucket.Bucket) *Initiator {
	return &Initiator{ID: wire.UserARN(wire.Partition(b.Region()), b.Account()), DisplayName: wire.UserName}
}

// ARN returns the ARN of a bucket in a region.
func ARN(region, name string) string { return "arn:" + wire.Partition(region) + ":s3:::" + name }

func arnOf(b *bucket.Bucket) string { return ARN(b.Region(), b.Name()) }
