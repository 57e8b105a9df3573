package s3

import (
	"crypto/md5" //nolint:gosec // the digest that clients send
	"encoding/base64"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// CustomerKey is a key of the customer, in a request. It is not kept, and nothing is encrypted with it.
type CustomerKey struct{ algorithm, key, digest string }

func (k CustomerKey) check() error {
	switch {
	case k.algorithm != aes256:
		return rest.InvalidArgument("Requests specifying Server Side Encryption with Customer provided keys must provide a "+
			"valid encryption algorithm.", "x-amz-server-side-encryption-customer-algorithm", k.algorithm)
	case k.key == "":
		return rest.InvalidArgument("Requests specifying Server Side Encryption with Customer provided keys must provide an "+
			"appropriate secret key.", "x-amz-server-side-encryption-customer-key", "")
	case k.digest == "":
		return rest.InvalidArgument("Requests specifying Server Side Encryption with Customer provided keys must provide the "+
			"client calculated MD5 of the secret key.", "x-amz-server-side-encryption-customer-key-MD5", "")
	case !k.matches():
		return rest.InvalidArgument("The calculated MD5 hash of the key did not match the hash that was provided.",
			"x-amz-server-side-encryption-customer-key-MD5", k.digest)
	}
	return nil
}

// opens reports whether an object may be read with the key.
func (k CustomerKey) opens(o *bucket.Object) error {
	switch {
	case o.Encryption.CustomerMD5 == "" && k.algorithm == "":
		return nil
	case o.Encryption.CustomerMD5 == "":
		return invalidRequest("The encryption parameters are not applicable to this object.")
	case k.algorithm == "":
		return invalidRequest("The object was stored using a form of Server Side Encryption. The correct parameters must " +
			"be provided to retrieve the object.")
	}
	if err := k.check(); err != nil {
		return err
	}
	if k.digest != o.Encryption.CustomerMD5 {
		return accessDenied()
	}
	return nil
}

// matches reports whether the digest is that of the key.
func (k CustomerKey) matches() bool {
	raw, err := base64.StdEncoding.DecodeString(k.key)
	sum := md5.Sum(raw) //nolint:gosec // see the import
	return err == nil && len(raw) == 32 && base64.StdEncoding.EncodeToString(sum[:]) == k.digest
}
