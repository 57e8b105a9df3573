// Package provision creates the topics of channels, compares them with specifications, and remembers what topics were
// that are deleted. A wish is a topic with the settings that it should have. The [Provisioner] ensures wishes, or says
// in a plan what differs from them.
package provision
