import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

extension IntegrationTests {
    /// What staff do in a console, through the gateway.
    @Suite(.localServer)
    struct StaffTests {
        let server: LocalServer
        let console: StaffConsole

        init() throws {
            server = try .current
            console = StaffConsole(server: server)
        }

        /// Creates a member with a password of their own, and waits until the gateway knows them.
        private func make(_ name: String, rights: String, by administrator: String) async throws -> (
            id: String, tokens: Reply
        ) {
            let body =
                #"{"userName":"\#(name)","password":"a horse of \#(name)","mustReset":false,"rights":\#(rights)}"#
            let made = try await console.send("POST", "staff", body, as: administrator)
            try #require(made.status == 201, "\(made)")
            let tokens = try await console.signIn(name, "a horse of \(name)")
            let token = try #require(tokens.string("accessToken"))
            try await eventually("the gateway knows \(name)", within: .seconds(180)) {
                try await console.send("GET", "me", as: token).status == 200
            }
            return (try #require(made.string("id")), tokens)
        }

        @Test func `The administrator from connection.json signs in and creates staff, and this is logged`()
            async throws
        {
            let token = try await console.asAdministrator()
            #expect(try await console.send("GET", "me", as: token).string("userName") == server.connection.staffUser)
            let (id, tokens) = try await make("berta", rights: #"{"*":{"staff":["read"]}}"#, by: token)
            let berta = try #require(tokens.string("accessToken"))
            #expect(try await console.send("GET", "staff", as: berta).status == 200)
            #expect(try await console.send("GET", "audit", as: berta).isProblem(.forbidden))
            let log = try await console.send("GET", "audit?action=create&limit=1", as: token)
            #expect(
                log.string("data.0.target") == id && log.string("data.0.staff.userName") == server.connection.staffUser,
                "\(log)")
            #expect(log.string("data.0.address") == "127.0.0.1")
            let export = try await console.send("GET", "audit/export?format=csv", as: token)
            #expect(export.status == 200 && export.text.contains(id) && !export.text.contains("horse"), "\(export)")
        }

        @Test func `A member with a right in one app can find the app`() async throws {
            let token = try await console.asAdministrator()
            let app = try await server.makeApp("Found").appId
            let (_, tokens) = try await make("karla", rights: #"{"\#(app)":{"tickets":["read"]}}"#, by: token)
            let karla = try #require(tokens.string("accessToken"))
            let list = try await console.send("GET", "apps", as: karla)
            #expect(list.status == 200 && list["count"] == "1" && list.string("data.0.id") == app, "\(list)")
            #expect(list.string("data.0.name") == "Found" && list["data.0.settings"] == nil, "\(list)")
            #expect(try await console.send("GET", "apps/\(app)/tickets", as: karla).status == 200)
            #expect(try await console.send("GET", "apps/\(app)/keys", as: karla).isProblem(.forbidden))
        }

        @Test
        func
            `Revoked rights and disabled accounts take effect within two seconds, even with earlier tokens`()
            async throws
        {
            let token = try await console.asAdministrator()
            let (id, tokens) = try await make("carla", rights: #"{"*":{"staff":["read"]}}"#, by: token)
            let carla = try #require(tokens.string("accessToken"))
            #expect(try await console.send("GET", "staff", as: carla).status == 200)
            #expect(try await console.send("PATCH", "staff/\(id)", #"{"rights":{}}"#, as: token).status == 200)
            try await eventually("the right is no longer accepted", within: .seconds(25)) {
                try await console.send("GET", "staff", as: carla).isProblem(.forbidden)
            }
            #expect(try await console.send("GET", "me", as: carla).status == 200)
            #expect(try await console.send("PATCH", "staff/\(id)", #"{"disabled":true}"#, as: token).status == 200)
            try await eventually("the token is refused", within: .seconds(25)) {
                try await console.send("GET", "me", as: carla).isProblem(.invalidToken)
            }
            let refresh = try await console.send(
                "POST", "auth/refresh", #"{"refreshToken":"\#(try #require(tokens.string("refreshToken")))"}"#)
            #expect(refresh.isProblem(.invalidToken))
        }

        @Test func `Tickets can be assigned to existing staff who may read them`() async throws {
            let token = try await console.asAdministrator()
            let (id, _) = try await make("hilda", rights: #"{"*":{"tickets":["read"]}}"#, by: token)
            let (stranger, _) = try await make("ines", rights: #"{"*":{"crashes":["read"]}}"#, by: token)
            let app = Client.master(server.connection)
            let given = try await app.post("tickets", #"{"title":"t","assignee":"\#(id)"}"#)
            #expect(given.status == 201 && given.string("assignee") == id, "\(given)")
            for nobody in [UUID().uuidString, stranger] {
                #expect(
                    try await app.post("tickets", #"{"title":"t","assignee":"\#(nobody)"}"#).isProblem(.invalidBody),
                    "\(nobody)")
            }
            #expect(try await console.send("PATCH", "staff/\(id)", #"{"disabled":true}"#, as: token).status == 200)
            #expect(try await app.post("tickets", #"{"title":"t","assignee":"\#(id)"}"#).isProblem(.invalidBody))
        }

        @Test func `As many rights as fit reach the service`() async throws {
            let token = try await console.asAdministrator()
            let all = #"["create","read","update","delete"]"#
            var rights: [String] = []
            for number in 0..<18 {
                let app = try await server.makeApp("Many \(number)").appId
                let areas = StaffArea.allCases.filter { !$0.isServerWide }.map { #""\#($0.rawValue)":\#(all)"# }
                rights.append(#""\#(app)":{\#(areas.joined(separator: ","))}"#)
            }
            let (_, tokens) = try await make("gerda", rights: "{\(rights.joined(separator: ","))}", by: token)
            let me = try await console.send("GET", "me", as: tokens.string("accessToken"))
            #expect(me.status == 200 && me.text.utf8.count > 8_000, "\(me)")
        }

        @Test func `A password set by someone else must be changed first, and the new session is valid at once`()
            async throws
        {
            let token = try await console.asAdministrator()
            let made = try await console.send(
                "POST", "staff", #"{"userName":"dora","isAdministrator":true}"#, as: token)
            let password = try #require(made.string("password"), "\(made)")
            server.record(secret: password)
            let dora = try #require(try await console.signIn("dora", password).string("accessToken"))
            try await eventually("the gateway knows dora", within: .seconds(180)) {
                try await console.send("GET", "staff", as: dora).isProblem(.passwordResetRequired)
            }
            let changed = try await console.send(
                "PUT", "me/password", #"{"password":"\#(password)","newPassword":"a horse of dora"}"#, as: dora)
            #expect(changed.status == 200, "\(changed)")
            let fresh = try #require(changed.string("accessToken"))
            #expect(try await console.send("GET", "staff", as: fresh).status == 200)
        }

        @Test func `Tokens of users and staff are not interchangeable`() async throws {
            let token = try await console.asAdministrator()
            let client = Client(server.connection)
            let user = try await client.post("auth/signup", #"{"userName":"stafflike","password":"correct horse"}"#)
            let userToken = try #require(user.string("accessToken"), "\(user)")
            server.record(secret: userToken)
            for path in ["me", "staff", "audit", "sessions"] {
                #expect(try await console.send("GET", path, as: userToken).isProblem(.invalidToken))
            }
            let asStaff = client.adding("authorization", "Bearer \(token)")
            for path in ["auth/me", "storage/Notes", "auth/sessions"] {
                #expect(try await asStaff.get(path).isProblem(.invalidToken))
            }
            // An app's master key and a cookie are refused as well.
            for headers in [[HeaderName.masterKey: server.connection.masterKey], ["cookie": "accessToken=\(token)"]] {
                #expect(
                    try await Client.send("GET", server.connection.url + "/admin/staff", headers: headers).isProblem(
                        .invalidToken))
            }
        }

        @Test func `The operator lists, resets and disables staff, and this is logged`() async throws {
            let token = try await console.asAdministrator()
            let (id, tokens) = try await make("emma", rights: "{}", by: token)
            let list = try await server.martlet("staff", "list")
            #expect(list.status == 0 && list.output.contains("emma"), "\(list)")
            let reset = try await server.martlet("staff", "reset-password", "emma")
            let password = reset.output.trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(reset.status == 0 && password.count >= 32, "\(reset)")
            server.record(secret: password)
            let emma = try #require(tokens.string("accessToken"))
            try await eventually("the session has ended", within: .seconds(25)) {
                try await console.send("GET", "me", as: emma).isProblem(.invalidToken)
            }
            #expect(try await console.signIn("emma", password)["staff.mustReset"] == "true")
            #expect(try await server.martlet("staff", "disable", "emma").status == 0)
            let refused = try await console.send(
                "POST", "auth/login", #"{"userName":"emma","password":"\#(password)"}"#)
            #expect(refused.isProblem(.signInFailed))
            let log = try await console.send("GET", "audit?action=disable&limit=1", as: token)
            #expect(log.string("data.0.staff.userName") == "operator" && log.string("data.0.target") == id, "\(log)")
            #expect(try await server.martlet("staff", "disable", "nobody").status != 0)
        }
    }
}
