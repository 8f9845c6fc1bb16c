import Foundation
public import MartletAPI
public import MartletCore

/// A service under test, as seen through the gateway by an app's clients, its server and staff.
public protocol ServiceApp: Sendable {
    var gateway: ServiceClient { get }
    var appID: String { get }
    var appNumber: Int { get }
    var environment: AppEnvironment { get }
}

extension ServiceApp {
    public var appNumber: Int { 1 }

    public func principal(_ kind: Principal.Kind, user: String? = nil, staff: StaffGrant? = nil) -> Principal {
        Principal(
            kind: kind, appID: appID, appNumber: appNumber, environment: environment, credentialID: "c1", userID: user,
            sessionID: user.map { _ in "s1" }, staff: staff)
    }

    /// Sends a request as the app's own server.
    @discardableResult
    public func master(_ method: String, _ path: String, _ body: String? = nil, headers: [String: String] = [:])
        async throws -> Answer
    {
        try await gateway.acting(as: principal(.master)).send(method, path, body, headers: headers)
    }

    /// Sends a request as the app on a device, optionally with a signed-in user.
    public func client(
        _ method: String, _ path: String, _ body: String? = nil, user: String? = nil, headers: [String: String] = [:]
    ) async throws -> Answer {
        try await gateway.acting(as: principal(.client, user: user)).send(method, path, body, headers: headers)
    }

    /// Sends a request as a staff member who has just signed in.
    public func staff(
        _ method: String, _ path: String, _ body: String? = nil, rights: StaffRights = .none,
        headers: [String: String] = [:]
    ) async throws -> Answer {
        let grant = StaffGrant(
            id: "0193a000-0000-7000-8000-000000000001", userName: "sam", rights: rights,
            confirmed: Int64(Date().timeIntervalSince1970))
        return try await gateway.acting(as: principal(.staff, staff: grant)).send(method, path, body, headers: headers)
    }
}
