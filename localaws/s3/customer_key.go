package s3

import (
	"crypto/md5" //nolint:gosec // the digest that clients send
	"encoding/base64"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// CustomerKey is a key of the customer, in a request. It is not kept, and nothing is encrypted with it.
type CustomerKey struct {
	SSECustomerAlgorithm string `rest:"header,x-amz-server-side-encryption-customer-algorithm"`
	SSECustomerKey       string `rest:"header,x-amz-server-side-encryption-customer-key"`
	SSECustomerKeyMD5    string `rest:"header,x-amz-server-side-encryption-customer-key-MD5"`
}

// check reports what is wrong with the headers. S3 names another header than the one that is wrong, and no value.
func (k CustomerKey) check() error {
	bad := func(message string) error {
		return rest.Refuse(400, "InvalidArgument", message, "ArgumentName", "x-amz-server-side-encryption")
	}
	raw, err := base64.StdEncoding.DecodeString(k.SSECustomerKey)
	sum := md5.Sum(raw) //nolint:gosec // see the import
	const provide = "Requests specifying Server Side Encryption with Customer provided keys must provide "
	switch {
	case k.SSECustomerAlgorithm == "":
		return bad(provide + "a valid encryption algorithm.")
	case k.SSECustomerKey == "":
		return bad(provide + "an appropriate secret key.")
	case k.SSECustomerAlgorithm != aes256:
		return rest.Refuse(400, "InvalidEncryptionAlgorithmError",
			"The Encryption request you specified is not valid. Supported value: AES256.",
			"ArgumentName", "x-amz-server-side-encryption", "ArgumentValue", k.SSECustomerAlgorithm)
	case err != nil || len(raw) != customerKeySize:
		return bad("The secret key was invalid for the specified algorithm.")
	case k.SSECustomerKeyMD5 == "":
		return bad(provide + "the client calculated MD5 of the secret key.")
	case base64.StdEncoding.EncodeToString(sum[:]) != k.SSECustomerKeyMD5:
		return bad("The calculated MD5 hash of the key did not match the hash that was provided.")
	}
	return nil
}

const customerKeySize = 32 // AES256

func (k CustomerKey) given() bool { return k != CustomerKey{} }

// opens reports whether an object may be read with the key.
func (k CustomerKey) opens(o *bucket.Object) error {
	switch {
	case o.Encryption.CustomerMD5 == "" && !k.given():
		return nil
	case o.Encryption.CustomerMD5 == "":
		return invalidRequest("The encryption parameters are not applicable to this object.")
	case !k.given():
		return invalidRequest("The object was stored using a form of Server Side Encryption. The correct parameters must " +
			"be provided to retrieve the object.")
	}
	if err := k.check(); err != nil {
		return err
	}
	if k.SSECustomerKeyMD5 != o.Encryption.CustomerMD5 {
		return rest.Refuse(403, "AccessDenied", "Requests specifying Server Side Encryption with Customer provided keys "+
			"must provide the correct secret key.")
	}
	return nil
}

// fits reports whether a part has the key of its upload.
func (k CustomerKey) fits(u *bucket.Upload) error {
	own := u.Encryption.CustomerMD5
	if k.given() {
		if err := k.check(); err != nil {
			return err
		}
	}
	switch {
	case (own != "") != k.given():
		return invalidRequest("The multipart upload initiate requested encryption. Subsequent part requests must include " +
			"the appropriate encryption parameters.")
	case own != k.SSECustomerKeyMD5:
		return invalidRequest("The provided encryption parameters did not match the ones used originally.")
	}
	return nil
}
