import MartletAPI
import MartletCore
import Synchronization
import Testing

@testable import MartletHTTP

@Suite struct UserLookupTests {
    private func principal(_ user: String?, _ environment: AppEnvironment = .live) -> Principal {
        var principal = Principal(kind: .client, appID: "a", appNumber: 1, environment: environment, credentialID: "c")
        principal.userID = user
        return principal
    }

    @Test func `Roles are requested once per user, and not without a user`() async throws {
        let asked = Mutex<[UserDataRequest]>([])
        let names = RoleNames { user in
            asked.withLock { $0.append(user) }
            return UserRoles(roles: ["\(user.user) \(user.environment.rawValue)"])
        }
        #expect(try await names.roles(of: principal(nil)) == [])
        for _ in 0..<3 { #expect(try await names.roles(of: principal("u")) == ["u live"]) }
        #expect(try await names.roles(of: principal("u", .test)) == ["u test"])
        #expect(try await names.roles(of: principal("v")) == ["v live"])
        #expect(asked.withLock { $0.map(\.user) } == ["u", "u", "v"])
    }

    private struct Unavailable: Error {}

    @Test func `A failed look-up is not cached as no roles`() async throws {
        let isUnavailable = Mutex(true)
        let names = RoleNames { _ in
            if isUnavailable.withLock({ $0 }) { throw Unavailable() }
            return UserRoles(roles: ["editors"])
        }
        await #expect(throws: Unavailable.self) { try await names.roles(of: principal("u")) }
        isUnavailable.withLock { $0 = false }
        #expect(try await names.roles(of: principal("u")) == ["editors"])
        isUnavailable.withLock { $0 = true }
        #expect(try await names.roles(of: principal("u")) == ["editors"])
    }

    @Test func `A value for which there is no room evicts all others, and one that is too large is not cached`()
        async throws
    {
        let asked = Mutex(0)
        let size = Mutex(UserProfiles.maximumValueInBytes)
        let profiles = UserProfiles(size: { _ in size.withLock { $0 } }) { _ in
            asked.withLock { $0 += 1 }
            return .object([])
        }
        let count = UserProfiles.maximumRememberedInBytes / UserProfiles.maximumValueInBytes
        for _ in 0..<2 {
            for number in 0..<count { _ = try await profiles.value(of: principal("u\(number)")) }
        }
        #expect(asked.withLock { $0 } == count)
        // There is no room for the next one, so all others are evicted.
        for user in ["w", "u0"] { _ = try await profiles.value(of: principal(user)) }
        #expect(asked.withLock { $0 } == count + 2)
        // One that is too large evicts nothing, and is not cached.
        size.withLock { $0 += 1 }
        for user in ["x", "x"] { _ = try await profiles.value(of: principal(user)) }
        _ = try await profiles.value(of: principal("w"))
        #expect(asked.withLock { $0 } == count + 4)
    }
}
