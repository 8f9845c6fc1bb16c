import Foundation
import Glibc
import MartletAPI
import MartletCore
import Testing

@testable import MartletHTTP

/// A service whose address accepts connections and never answers.
@Suite struct BlackHoleTests {
    @Test func `A look-up ends by its own timeout`() async throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(listener >= 0)
        defer { close(listener) }
        var address = sockaddr_in()
        (address.sin_family, address.sin_addr.s_addr) = (sa_family_t(AF_INET), inet_addr("127.0.0.1"))
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                // The kernel accepts connections; no one reads from them.
                bind(listener, raw, length) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, raw, &length) == 0
            }
        }
        try #require(isListening)
        let url = try #require(URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"))
        let calls = ServiceCalls(caller: "config", internalSecret: Secret("an-internal-secret-of-the-tests-0123456789"))
        let profiles = UserProfiles(of: ServiceAddress(name: "auth", url: url), calls: calls)
        var principal = Principal(kind: .client, appID: "a", appNumber: 1, environment: .live, credentialID: "c")
        principal.userID = "u"
        await #expect(throws: OutgoingFailure.timeout) { try await profiles.value(of: principal) }
    }
}
