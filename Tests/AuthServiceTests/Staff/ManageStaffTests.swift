import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import AuthService

@Suite struct ManageStaffTests {
    @Test func `Staff are created, listed, changed and deleted, and every action is logged`() async throws {
        try await StaffClient.run { client, root async throws in
            let app = try await client.auth.apps.create(name: "Shop")
            let rights = #"{"\#(app.id)":{"storage":["read","update"]},"*":{"status":["read"]}}"#
            let id = try await client.make("berta", rights: rights, by: root)
            let read = try await client.send("GET", "staff/\(id)", as: root)
            #expect(
                read["rights.\(app.id).storage"] == #"["read","update"]"# && read["rights.*.status"] == #"["read"]"#,
                "\(read)")
            #expect(try await client.send("GET", "staff", as: root)["data.0.userName"] == #""berta""#)
            let first = try await client.send("GET", "staff?limit=1", as: root)
            #expect(first["count"] == "1" && first["next"] == #""berta""#)
            let second = try await client.send("GET", "staff?limit=1&after=berta", as: root)
            #expect(second.string("data.0.userName") == "root" && second["next"] == nil)

            let change = #"{"userName":"berta.b","rights":{"*":{"storage":["read"]}}}"#
            let changed = try await client.send("PATCH", "staff/\(id)", change, as: root)
            #expect(changed.string("userName") == "berta.b" && changed["rights.\(app.id)"] == nil, "\(changed)")
            let entry = try await client.send("GET", "audit?limit=1", as: root)
            #expect(
                entry.string("data.0.before.userName") == "berta" && entry.string("data.0.after.userName") == "berta.b",
                "\(entry)")
            #expect(entry.string("data.0.address") == "192.0.2.7" && entry.string("data.0.staff.userName") == "root")

            let named = try await client.send(
                "PATCH", "staff/\(id)", #"{"firstName":" Berta ","lastName":"Müller"}"#, as: root)
            #expect(named.string("firstName") == "Berta" && named.string("lastName") == "Müller", "\(named)")
            let halved = try await client.send("PATCH", "staff/\(id)", #"{"firstName":null}"#, as: root)
            #expect(halved["firstName"] == "null" && halved.string("lastName") == "Müller", "\(halved)")
            let berta = try await client.signIn("berta.b")
            #expect(try await client.send("DELETE", "staff/\(id)", as: root).status == 204)
            #expect(try await client.send("GET", "staff/\(id)", as: root).isProblem(.staffNotFound))
            #expect(try await client.refresh(berta.refresh).isProblem(.invalidToken))
            #expect(try await client.logIn("berta.b").isProblem(.signInFailed))
            let gone = try await client.send("GET", "audit?staff=\(id)", as: root)
            #expect(gone["count"] == "1" && gone.string("data.0.staff.userName") == "berta.b", "\(gone)")
            #expect(try await client.send("GET", "sign-ins", as: root).text.contains("berta.b"))
        }
    }

    @Test func `Invalid fields are named, and nothing is written`() async throws {
        try await StaffClient.run { client, root async throws in
            let before = try await client.count("SELECT count(*) FROM auth.audit_log")
            for (body, field) in [
                (#"{"userName":"x","firstName":"a\u0007"}"#, "firstName"), (#"{}"#, "userName"),
                (#"{"userName":"-x"}"#, "userName"),
                (#"{"userName":"\#(String(repeating: "a", count: 101))"}"#, "userName"),
                (#"{"userName":"x","password":"short"}"#, "password"),
                (#"{"userName":"long-name","password":"long-name"}"#, "password"),
                (#"{"userName":"x","rights":[]}"#, "rights"),
                (#"{"userName":"x","rights":{"*":{"gold":["read"]}}}"#, "rights"),
                (#"{"userName":"x","rights":{"*":{"storage":["own"]}}}"#, "rights"),
                (#"{"userName":"x","rights":{"*":["read"]}}"#, "rights"),
                (#"{"userName":"x","rights":{"noapp":{"storage":["read"]}}}"#, "rights"),
                (#"{"userName":"x","rights":{"noapp":{"staff":["read"]}}}"#, "rights"),
                (#"{"userName":"x","isAdministrator":1}"#, "isAdministrator"),
                (#"{"userName":"x","id":"y"}"#, "id"), (#"{"userName":"x","secondFactor":true}"#, "secondFactor"),
            ] {
                let answer = try await client.send("POST", "staff", body, as: root)
                #expect(answer.isProblem(.invalidBody, field: field), "\(body) \(answer)")
            }
            let taken = try await client.send("POST", "staff", #"{"userName":"root"}"#, as: root)
            #expect(taken.isProblem(.conflict, field: "userName"))
            for path in ["staff/x", "staff/\(UUID())"] {
                for (method, body) in [("GET", nil), ("PATCH", "{}"), ("DELETE", nil)] as [(String, String?)] {
                    #expect(try await client.send(method, path, body, as: root).isProblem(.staffNotFound))
                }
            }
            #expect(try await client.count("SELECT count(*) FROM auth.staff") == 1)
            #expect(try await client.count("SELECT count(*) FROM auth.audit_log") == before)
        }
    }

    @Test func `Rights allow exactly what they name`() async throws {
        try await StaffClient.run { client, root async throws in
            _ = try await client.make("reader", rights: #"{"*":{"staff":["read"]}}"#, by: root)
            _ = try await client.make("auditor", rights: #"{"*":{"audit":["read"]}}"#, by: root)
            _ = try await client.make("nobody", by: root)
            let (reader, auditor, nobody) = (
                try await client.signIn("reader"), try await client.signIn("auditor"), try await client.signIn("nobody")
            )
            let new = #"{"userName":"x"}"#
            for (method, path, body, allowed) in [
                ("GET", "staff", nil, [reader]), ("GET", "staff/\(root.staffID)", nil, [reader]),
                ("GET", "sign-ins", nil, [reader]),
                ("GET", "audit", nil, [auditor]), ("GET", "audit/export", nil, [auditor]), ("POST", "staff", new, []),
                ("PATCH", "staff/\(nobody.staffID)", "{}", []), ("DELETE", "staff/\(nobody.staffID)", nil, []),
                ("DELETE", "staff/\(nobody.staffID)/totp", nil, []),
                ("DELETE", "staff/\(nobody.staffID)/sessions", nil, []),
                ("GET", "me", nil, [reader, auditor, nobody]),
            ] as [(String, String, String?, [StaffTokens])] {
                for tokens in [reader, auditor, nobody] {
                    let answer = try await client.send(method, path, body, as: tokens)
                    let isAllowed = allowed.contains { $0.staffID == tokens.staffID }
                    #expect(
                        isAllowed ? answer.status == 200 : answer.isProblem(.forbidden), "\(method) \(path) \(answer)")
                }
            }
        }
    }

    @Test func `Managing staff does not extend one's own rights`() async throws {
        try await StaffClient.run { client, root async throws in
            let app = try await client.auth.apps.create(name: "Shop")
            let all = #"["create","read","update","delete"]"#
            let manager = #"{"*":{"staff":\#(all)},"\#(app.id)":{"storage":["read","update"]}}"#
            let managerID = try await client.make("manager", rights: manager, by: root)
            let strong = try await client.make("strong", rights: #"{"*":{"backup":["create"]}}"#, by: root)
            let weak = try await client.make("weak", rights: #"{"\#(app.id)":{"storage":["read"]}}"#, by: root)
            let tokens = try await client.signIn("manager")
            let before = try await client.count("SELECT count(*) FROM auth.audit_log WHERE action <> 'sign-in'")

            // Granting rights they do not have, in other apps, in every app, or everything.
            for rights in [
                #"{"\#(app.id)":{"storage":["delete"]}}"#, #"{"*":{"storage":["read"]}}"#,
                #"{"\#(app.id)":{"users":["read"]}}"#, #"{"*":{"audit":["read"]}}"#,
            ] {
                let made = try await client.send(
                    "POST", "staff", #"{"userName":"eve","rights":\#(rights)}"#, as: tokens)
                #expect(made.isProblem(.forbidden, field: "rights"), "\(made)")
                for id in [weak, managerID] {
                    let changed = try await client.send("PATCH", "staff/\(id)", #"{"rights":\#(rights)}"#, as: tokens)
                    #expect(changed.isProblem(.forbidden, field: "rights"), "\(changed)")
                }
            }
            for (method, path, body) in [
                ("POST", "staff", #"{"userName":"eve","isAdministrator":true}"#),
                ("PATCH", "staff/\(managerID)", #"{"isAdministrator":true}"#),
                ("PATCH", "staff/\(weak)", #"{"isAdministrator":true}"#),
            ] {
                #expect(
                    try await client.send(method, path, body, as: tokens).isProblem(
                        .forbidden, field: "isAdministrator"))
            }
            // Taking over a member with more rights: by a password, by removing the second factor, by locking out.
            for id in [root.staffID, strong] {
                for body in [
                    #"{"password":"taken over now"}"#, #"{"disabled":true}"#, #"{"mustReset":true}"#, #"{"rights":{}}"#,
                    #"{"userName":"x"}"#, "{}",
                ] {
                    #expect(
                        try await client.send("PATCH", "staff/\(id)", body, as: tokens).isProblem(.forbidden), "\(body)"
                    )
                }
                for path in ["staff/\(id)", "staff/\(id)/totp", "staff/\(id)/sessions"] {
                    #expect(try await client.send("DELETE", path, as: tokens).isProblem(.forbidden), "\(path)")
                }
            }
            #expect(try await client.count("SELECT count(*) FROM auth.audit_log WHERE action <> 'sign-in'") == before)
            #expect(try await client.count("SELECT count(*) FROM auth.staff") == 4)

            // The member may do what their rights allow.
            #expect(
                try await client.send("PATCH", "staff/\(weak)", #"{"password":"a fresh start"}"#, as: tokens).status
                    == 200)
            let made = try await client.make(
                "helper", rights: #"{"\#(app.id)":{"storage":["update"]},"*":{"staff":["read"]}}"#, by: tokens)
            #expect(try await client.send("DELETE", "staff/\(made)", as: tokens).status == 204)
        }
    }

    @Test func `A revoked right ends at once, even if the gateway does not know yet`() async throws {
        try await StaffClient.run { client, root async throws in
            let id = try await client.make(
                "manager", rights: #"{"*":{"staff":["create","read","update","delete"]}}"#, by: root)
            let tokens = try await client.signIn("manager")
            let uuid = try #require(UUID(uuidString: id))
            var known = try #require(try await client.store.account(uuid)).grant
            known.confirmed = .now
            let stale = client.auth.gateway.acting(
                as: Principal(
                    kind: .staff, appID: "", appNumber: 0, environment: .live, credentialID: id,
                    sessionID: tokens.sessionID, staff: known))
            for change in [#"{"rights":{}}"#, #"{"disabled":true}"#] {
                #expect(try await client.send("PATCH", "staff/\(id)", change, as: root).status == 200)
                #expect(try await stale.post("/admin/staff", #"{"userName":"eve"}"#).isProblem(.forbidden))
                #expect(try await stale.patch("/admin/staff/\(id)", #"{"disabled":false}"#).isProblem(.forbidden))
            }
            #expect(try await client.count("SELECT count(*) FROM auth.staff") == 2)
        }
    }

    @Test func `The last administrator stays, even if two are demoted at once`() async throws {
        try await StaffClient.run { client, root async throws in
            for body in [#"{"isAdministrator":false}"#, #"{"disabled":true}"#] {
                #expect(
                    try await client.send("PATCH", "staff/\(root.staffID)", body, as: root).isProblem(.conflict),
                    "\(body)")
            }
            #expect(try await client.send("DELETE", "staff/\(root.staffID)", as: root).isProblem(.conflict))
            await #expect(throws: LastAdministratorError.self) { try await client.store.disable("root") }
            for round in 0..<6 {
                let id = try await client.make("second\(round)", isAdministrator: true, by: root)
                let second = try await client.signIn("second\(round)")
                // Each demotes the other, or each demotes themselves.
                let pairs =
                    round % 2 == 0 ? [(root, id), (second, root.staffID)] : [(root, root.staffID), (second, id)]
                let change = [#"{"isAdministrator":false}"#, #"{"disabled":true}"#][round / 2 % 2]
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for (tokens, target) in pairs {
                        group.addTask { try await client.send("PATCH", "staff/\(target)", change, as: tokens).status }
                    }
                    return try await group.reduce(into: [Int]()) { $0.append($1) }
                }
                #expect(
                    statuses.filter { $0 == 200 }.count == 1 && statuses.allSatisfy { [200, 403, 409].contains($0) },
                    "\(statuses)")
                #expect(
                    try await client.count("SELECT count(*) FROM auth.staff WHERE is_administrator AND NOT disabled")
                        == 1)
                try await client.auth.postgres.execute(
                    "UPDATE auth.staff SET is_administrator = TRUE, disabled = FALSE WHERE user_name = 'root'")
                try await client.auth.postgres.execute("DELETE FROM auth.staff WHERE user_name <> 'root'")
            }
        }
    }

    @Test func `The key ring has all enabled staff with their current rights`() async throws {
        try await StaffClient.run { client, root async throws in
            let id = try await client.make("berta", rights: #"{"*":{"storage":["read"]}}"#, by: root)
            var ring = try await client.auth.ring(after: 0) { $0.staff.count == 2 }
            let berta = try #require(ring.staff.first { $0.id == id })
            #expect(
                berta.userName == "berta" && berta.may(.read, .storage, in: "any")
                    && !berta.may(.update, .storage, in: "any"))
            #expect(
                try await client.send("PATCH", "staff/\(id)", #"{"rights":{"*":{"storage":["update"]}}}"#, as: root)
                    .status == 200)
            ring = try await client.auth.ring(after: ring.version) {
                $0.staff.contains { $0.may(.update, .storage, in: "any") && !$0.isAdministrator }
            }
            #expect(try await client.send("PATCH", "staff/\(id)", #"{"disabled":true}"#, as: root).status == 200)
            ring = try await client.auth.ring(after: ring.version) { $0.staff.count == 1 }
            #expect(ring.staff.map(\.userName) == ["root"])
        }
    }
}
