package bucket

// Settings are the configuration of a bucket. A nil or empty field is not configured. Settings are replaced as a whole
// and never modified.
type Settings struct {
	Location      string // the old name of the region that the bucket was created with; "": the region
	Policy        string
	Tags          []Tag
	PublicAccess  *PublicAccess
	Encryption    *Encryption // of objects whose request says nothing
	Ownership     string
	Lifecycle     []Rule
	Smallest      string // of the objects that a lifecycle transitions: x-amz-transition-default-minimum-object-size
	Notifications []Notification

	// These are kept and shown, and do not act.
	ACL     string  // a canned list
	Grants  []Grant // nil: those of ACL
	CORS    *CORS
	Logging *Logging
	Website *Website
}

// PublicAccess is a public access block. It is stored; every caller is the owner.
type PublicAccess struct {
	BlockPublicAcls, IgnorePublicAcls, BlockPublicPolicy, RestrictPublicBuckets bool
}

// Notification says where to report which events.
type Notification struct {
	ID          string
	Destination string   // ARN of a queue or a topic
	Events      []string // "s3:ObjectCreated:*"
	Prefix      string
	Suffix      string
	// PrefixName and SuffixName are the names of the filter's rules as the client wrote them; "": no such rule.
	PrefixName, SuffixName string
}
