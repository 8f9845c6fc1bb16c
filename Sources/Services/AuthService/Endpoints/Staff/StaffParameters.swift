import HTTPTypes
import Hummingbird
import MartletAPI

extension Request {
    /// What counts as one client, as the gateway says: for limits and the audit log.
    var staffAddress: String { headers[HTTPField.Name(HeaderName.address)!] ?? "" }
}
