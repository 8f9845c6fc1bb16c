import Foundation
import MartletAPI
import MartletCore
import Testing

@Suite struct StaffRightsTests {
    private static let rights = StaffRights(["shop": [.storage: [.read, .update]], "*": [.status: [.read]]])

    @Test(
        arguments: [
            (.read, .storage, "shop", true), (.update, .storage, "shop", true), (.delete, .storage, "shop", false),
            (.read, .users, "shop", false),
            (.read, .storage, "blog", false), (.read, .storage, nil, false), (.read, .status, nil, true),
            (.read, .status, "shop", true),
            (.read, .status, "*", true), (.read, .storage, "*", false), (.update, .status, nil, false),
        ] as [(StaffAction, StaffArea, String?, Bool)])
    func `Rights allow exactly what they name`(action: StaffAction, area: StaffArea, app: String?, expected: Bool) {
        #expect(Self.rights.allow(action, area, in: app) == expected)
        #expect(StaffGrant(id: "1", userName: "a", rights: Self.rights).may(action, area, in: app) == expected)
        #expect(StaffGrant(id: "1", userName: "a", isAdministrator: true).may(action, area, in: app))
        #expect(!StaffRights.none.allow(action, area, in: app))
    }

    @Test func `Rights are covered by rights that allow at least as much`() {
        #expect(StaffRights.none.isCovered(by: .none))
        #expect(Self.rights.isCovered(by: Self.rights))
        #expect(StaffRights(["shop": [.storage: [.read]]]).isCovered(by: Self.rights))
        #expect(StaffRights(["shop": [.storage: [.read]]]).isCovered(by: StaffRights(["*": [.storage: [.read]]])))
        #expect(!StaffRights(["*": [.storage: [.read]]]).isCovered(by: Self.rights))
        #expect(!Self.rights.isCovered(by: StaffRights(["shop": [.storage: [.read]]])))
        #expect(!StaffRights(["shop": [.storage: [.delete]]]).isCovered(by: Self.rights))
    }

    @Test func `Unknown rights allow nothing, and empty ones count as none`() throws {
        let text = #"{"*":{"storage":["read","own"],"gold":["read"]},"shop":{"users":[]}}"#
        let rights = try JSONDecoder().decode(StaffRights.self, from: Data(text.utf8))
        #expect(rights == StaffRights(["*": [.storage: [.read]]]))
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(
            String(decoding: try encoder.encode(Self.rights), as: UTF8.self)
                == #"{"*":{"status":["read"]},"shop":{"storage":["read","update"]}}"#)
    }

    @Test func `A principal from before the introduction of staff can still be read`() throws {
        let text = #"{"kind":"client","appID":"shop","appNumber":1,"environment":"live","credentialID":"k"}"#
        let principal = try JSONDecoder().decode(Principal.self, from: Data(text.utf8))
        #expect(principal.staff == nil && principal.kind == .client)
        #expect(!String(decoding: try JSONEncoder().encode(principal), as: UTF8.self).contains("staff"))
        let ring = try JSONDecoder().decode(KeyRing.self, from: Data(#"{"version":1,"apps":[]}"#.utf8))
        #expect(ring.staff == [])
    }
}
