import MartletAPI
import MartletCore

/// What a credential opened: who the services will be told is asking.
///
/// Confined to one event loop.
final class Grant {
    let principal: Principal
    /// Credentials that were presented, for the last-used report.
    let credentialIDs: [String]
    /// `x-martlet-principal: …` with its CRLF.
    let headerLine: [UInt8]
    /// Seconds since 1970 from when it must be made anew: the signature ages, a credential expires.
    let validUntil: Double
    /// Seconds since 1970; 0: not since the last report.
    var lastUsed: Double = 0

    /// What limits count as one; nil for visitors, who have nothing in common.
    var credentialID: String? { principal.kind == .visitor ? nil : principal.credentialID }

    init(principal: Principal, credentialIDs: [String], header: String, validUntil: Double) {
        self.principal = principal
        self.credentialIDs = credentialIDs
        self.headerLine = Array("x-martlet-principal: \(header)\r\n".utf8)
        self.validUntil = validUntil
    }
}

/// The last grant of one client connection, so that a client which repeats its credentials is not hashed again.
final class GrantMemo {
    var material: [UInt8] = []
    var grant: Grant?
    /// Which key ring it was made from.
    var generation = -1
    var address: IPAddress?
}
