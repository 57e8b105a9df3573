package godwittest

// ClientIsVirtual exports clientIsVirtual.
const ClientIsVirtual = clientIsVirtual
