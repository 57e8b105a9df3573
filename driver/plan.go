package driver

// Difference is one thing in which the resources of a channel are not as a [ChannelSpec] says.
type Difference struct {
	Kind    DifferenceKind
	Channel Channel // of the specification
	// Resource is what it is: queue, dead letters, topic, subscription, tier, or the bucket of the backend's [Store].
	Resource string
	Name     string // the service's name of the resource
	// Attribute is what differs, by the service's name; "": the resource as a whole. A tag is "tag owner".
	Attribute string
	From, To  string // values as the service writes them
	// Risk says what a change loses, or what it allows; "": nothing.
	Risk string
	// Note says what else is to be known about the change, such as how long it takes; "": nothing.
	Note string
	// Steps are what a person does, because the service cannot change it; nil: a Provisioner changes it.
	Steps []string
}

// WantedResource is a resource as a [ChannelSpec] says, whether it exists or not.
type WantedResource struct {
	Channel  Channel // of the specification; of an exchange's topic: the exchange
	Resource string  // as of a [Difference]
	Name     string  // the service's name; of a subscription: the name of its queue
	// Attributes are values as the service writes them, by its names.
	Attributes map[string]string
	Tags       map[string]string // nil: it can have none
}

// DifferenceKind says what a [Difference] asks for.
type DifferenceKind uint8

const (
	DiffersMissing DifferenceKind = iota // the resource does not exist, and is created
	DiffersValue                         // an attribute is changed
	// DiffersBeyondChange is what the service cannot change: the Steps say what a person does. Nothing happens by
	// itself.
	DiffersBeyondChange
	// DiffersForeign is a resource that Godwit has not created, or that it was told to use. It is never changed.
	DiffersForeign
)

// String returns the name of the kind, for texts and JSON.
func (k DifferenceKind) String() string {
	return [...]string{"create", "change", "replace", "foreign"}[k]
}
