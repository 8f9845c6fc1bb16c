import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AuthService

@Suite struct AuditLogTests {
    @Test func `An action that cannot be logged does not happen`() async throws {
        try await StaffClient.run { client, root async throws in
            let added = try await client.send("POST", "me/totp", #"{"password":"\#(StaffClient.password)"}"#, as: root)
            let code = SecondFactorTests.code(SecondFactorTests.decodeBase32(try #require(added.string("secret"))), 0)
            try await client.auth.database.withSuperuser {
                _ = try await $0.execute("REVOKE INSERT ON auth.audit_log FROM martlet_auth")
            }
            #expect(try await client.send("POST", "me/totp/confirm", #"{"code":"\#(code)"}"#, as: root).status == 500)
            #expect(
                try await client.count("SELECT count(*) FROM auth.staff_second_factors WHERE confirmed IS NOT NULL")
                    == 0)
            #expect(try await client.send("DELETE", "sessions", as: root).status == 500)
            #expect(try await client.logIn("root").status == 500)
            #expect(try await client.count("SELECT count(*) FROM auth.staff_sessions WHERE revoked IS NULL") == 1)
            #expect(try await client.store.account(StaffName("root")) != nil)
        }
    }

    private static let ada = StaffGrant(id: "0190163d-8694-739b-aea5-966c26f8ad91", userName: "ada")

    @Test func `Log entries cannot be changed`() async throws {
        try await StaffClient.run { client, _ async throws in
            for statement in [
                "UPDATE auth.audit_log SET staff_name = 'eve'", "DELETE FROM auth.audit_log", "TRUNCATE auth.audit_log",
                "DROP TABLE auth.audit_log",
                "ALTER TABLE auth.audit_log DISABLE TRIGGER ALL",
            ] as [PostgresQuery] {
                let error = await #expect(throws: PostgresError.self) {
                    try await client.auth.postgres.execute(statement)
                }
                #expect(error?.sqlState == "42501", "\(statement)")
            }
            #expect(try await client.count("SELECT count(*) FROM auth.audit_log") == 2)
        }
    }

    @Test func `An entry is written together with its action, or neither is`() async throws {
        struct Failure: Error {}
        try await StaffClient.run { client, _ async throws in
            let audit = AuditStore(postgres: client.auth.postgres)
            let before = try await client.count("SELECT count(*) FROM auth.audit_log")
            await #expect(throws: Failure.self) {
                try await client.auth.postgres.withTransaction { transaction in
                    try await audit.record(AuditEntry(by: Self.ada, "create", .applications, from: ""), transaction)
                    throw Failure()
                }
            }
            #expect(try await client.count("SELECT count(*) FROM auth.audit_log") == before)
            let entry = AuditEntry(by: Self.ada, "create", .applications, of: "shop", target: "shop", from: "::1")
            #expect(
                try await client.count(
                    "WITH audit AS (\(AuditStore.insertion(of: entry)) RETURNING 1) SELECT count(*) FROM audit") == 1)
            #expect(try await client.log() == ["ada create applications shop"])
        }
    }

    @Test func `Secrets never enter the log at any depth, and large values are cut`() async throws {
        try await StaffClient.run { client, root async throws in
            let audit = AuditStore(postgres: client.auth.postgres)
            let text =
                #"{"name":"a","password":"p","deep":[{"clientSecret":"s","x":1,"refreshTokens":["t"],"passwordSet":true}],"secretKey":{"a":1}}"#
            let value = try JSONValue(parsing: text.utf8)
            let large = JSONValue.object([.init("text", .string(String(repeating: "x", count: 40_000)))])
            try await audit.record(
                AuditEntry(by: Self.ada, "update", .config, of: "shop", before: value, after: large, from: ""))
            let entry = try await client.send("GET", "audit?limit=1", as: root)
            #expect(entry["data.0.before"] == #"{"deep":[{"x":1,"passwordSet":true}],"name":"a"}"#, "\(entry)")
            #expect(entry["data.0.after.tooLarge"] == "40011")
        }
    }

    @Test func `The log is read page by page, filtered by actor, action, object and time`() async throws {
        try await StaffClient.run { client, root async throws in
            let audit = AuditStore(postgres: client.auth.postgres)
            for number in 0..<7 {
                let area: StaffArea = number % 2 == 0 ? .storage : .config
                try await audit.record(
                    AuditEntry(
                        by: Self.ada, number == 3 ? "delete" : "update", area, of: number < 4 ? "shop" : "blog",
                        target: "t\(number)", from: ""))
            }
            func targets(_ query: String) async throws -> [String] {
                let answer = try await client.send("GET", "audit?staff=\(Self.ada.id)" + query, as: root)
                #expect(answer.status == 200, "\(answer)")
                return (0..<10).compactMap { answer.string("data.\($0).target") }
            }
            #expect(try await targets("") == ["t6", "t5", "t4", "t3", "t2", "t1", "t0"])
            #expect(try await targets("&area=config") == ["t5", "t3", "t1"])
            #expect(try await targets("&app=shop&area=storage") == ["t2", "t0"])
            #expect(try await targets("&action=delete") == ["t3"])
            #expect(try await targets("&from=2020-01-01T00:00:00Z&to=2021-01-01T00:00:00Z") == [])
            #expect(try await targets("&from=2020-01-01T00:00:00.5Z").count == 7)
            var (seen, next): ([String], String?) = ([], "9000000")
            while let before = next {
                let page = try await client.send("GET", "audit?staff=\(Self.ada.id)&limit=3&before=\(before)", as: root)
                seen += (0..<3).compactMap { page.string("data.\($0).target") }
                next = page["next"]
            }
            #expect(seen == ["t6", "t5", "t4", "t3", "t2", "t1", "t0"])
            for (query, field) in [
                ("staff=x", "staff"), ("area=gold", "area"), ("from=yesterday", "from"), ("to=1", "to"),
                ("limit=0", "limit"), ("limit=1001", "limit"),
                ("before=x", "before"), ("app=a'b", "app"), ("action=", "action"), ("user=x", "user"),
            ] {
                #expect(
                    try await client.send("GET", "audit?" + query, as: root).isProblem(.invalidParameter, field: field),
                    "\(query)")
            }
        }
    }

    @Test func `The log of one target includes the objects in it, and no target whose name only begins the same way`()
        async throws
    {
        try await StaffClient.run { client, root async throws in
            let audit = AuditStore(postgres: client.auth.postgres)
            let names = [
                "Note", "Note/a", "Note/a/b", "Note0", "Notes", "Notes/a", "note/a", "Note.a", "100%/a", "100x/a",
            ]
            for name in names {
                try await audit.record(AuditEntry(by: Self.ada, "update", .storage, of: "shop", target: name, from: ""))
            }
            func targets(_ target: String) async throws -> [String] {
                let answer = try await client.send("GET", "audit?app=shop&target=\(target)", as: root)
                #expect(answer.status == 200, "\(answer)")
                return (0..<20).compactMap { answer.string("data.\($0).target") }
            }
            #expect(try await targets("Note") == ["Note/a/b", "Note/a", "Note"])
            #expect(try await targets("Note/a") == ["Note/a/b", "Note/a"])
            #expect(try await targets("100%25") == ["100%/a"])
            #expect(try await targets("Not") == [])
            let file = try await client.send("GET", "audit/export?format=csv&target=Notes", as: root)
            #expect(file.text.split(separator: "\r\n").count == 3, "the header, Notes and Notes/a: \(file)")
            for target in ["", String(repeating: "x", count: 256), "a%00"] {
                #expect(
                    try await client.send("GET", "audit?target=\(target)", as: root).isProblem(
                        .invalidParameter, field: "target"), "\(target)")
            }
        }
    }

    @Test func `A target that is too long for an index is logged all the same`() async throws {
        try await StaffClient.run { client, root async throws in
            let audit = AuditStore(postgres: client.auth.postgres)
            let scalars = (0..<1_000).compactMap { UnicodeScalar(0x1_0000 + UInt32($0) * 37) }
            let long = String(String.UnicodeScalarView(scalars))
            try await audit.record(AuditEntry(by: Self.ada, "update", .storage, of: "shop", target: long, from: ""))
            #expect(try await client.send("GET", "audit?limit=1", as: root).string("data.0.target") == long)
        }
    }

    @Test func `The log is exported as JSON Lines and as CSV without formulas`() async throws {
        try await StaffClient.run { client, root async throws in
            let audit = AuditStore(postgres: client.auth.postgres)
            let nasty = "=1+1,\"x\"\r\nnext"
            try await audit.record(
                AuditEntry(
                    by: Self.ada, "update", .storage, of: "shop", target: nasty,
                    after: .object([.init("a", .number("1"))]), from: "::1"))
            // The entries fill more than one page of the export.
            try await client.auth.postgres.execute(
                """
                INSERT INTO auth.audit_log (staff_id, staff_name, action, area, target)
                SELECT \(UUID(uuidString: Self.ada.id)), 'ada', 'create', 'storage', 'n' || n FROM generate_series(1, 1200) AS n
                """)
            let lines = try await client.send("GET", "audit/export?staff=\(Self.ada.id)", as: root)
            #expect(
                lines.header("content-type") == "application/jsonl; charset=utf-8"
                    && lines.header("cache-control") == "no-store")
            #expect(lines.header("content-disposition") == #"attachment; filename="audit.jsonl""#)
            let rows = try lines.text.split(separator: "\n").map { try JSONValue(parsing: $0.utf8) }
            #expect(
                rows.count == 1_201 && rows[0]["target"] == .string(nasty) && rows[1_200]["target"] == .string("n1200"))
            #expect(rows[0]["after"]?["a"] == .number("1"))

            let table = try await client.send("GET", "audit/export?format=csv&area=storage&action=update", as: root)
            let header = "number,time,staffId,staffName,action,area,app,target,before,after,address,environment\r\n"
            #expect(
                table.text.hasPrefix(header) && table.header("content-type") == "text/csv; charset=utf-8", "\(table)")
            #expect(table.text.contains(#""'=1+1,""x""\#r\#nnext",,"{""a"": 1}","::1",\#r\#n"#), "\(table)")
            #expect(try await client.log() == ["root export audit csv"])
            #expect(
                try await client.send("GET", "audit/export?format=xml", as: root).isProblem(
                    .invalidParameter, field: "format"))
        }
    }

    @Test func `Sign-ins are counted by month, per member and in total`() async throws {
        try await StaffClient.run { client, root async throws in
            let id = try #require(UUID(uuidString: root.staffID))
            try await client.auth.postgres.execute(
                """
                INSERT INTO auth.staff_sign_ins (month, staff_id, user_name, count)
                VALUES ('2026-01-01', \(id), 'root', 5), ('2026-01-01', \(UUID()), 'ada', 2), ('2025-12-01', \(id), 'root', 1)
                """)
            let months = try await client.send("GET", "sign-ins?by=month&from=2025-12&to=2026-01", as: root)
            #expect(
                months["count"] == "2" && months["data.0.month"] == #""2026-01""# && months["data.0.count"] == "7",
                "\(months)")
            #expect(months.string("data.0.staff.0.userName") == "ada" && months["data.0.staff.1.count"] == "5")
            #expect(months["data.1.count"] == "1")
            for _ in 0..<2 { _ = try await client.signIn("root") }
            #expect(try await client.send("GET", "sign-ins", as: root)["data.0.count"] == "3")
            for (query, field) in [("by=week", "by"), ("from=2026-13", "from"), ("to=2026", "to"), ("x=1", "x")] {
                #expect(
                    try await client.send("GET", "sign-ins?" + query, as: root).isProblem(
                        .invalidParameter, field: field))
            }
        }
    }

    @Test func `The operator's commands are logged`() async throws {
        try await StaffClient.run { client, root async throws in
            #expect(try await client.log(2).last == "operator create staff root")
            let id = try await client.make("berta", by: root)
            let berta = try await client.signIn("berta")
            #expect(
                try await client.store.resetPassword(
                    of: "berta", to: Secret("a new beginning"), removesSecondFactor: true))
            #expect(try await client.log() == ["operator reset-password staff \(id)"])
            #expect(try await client.refresh(berta.refresh).isProblem(.invalidToken))
            #expect(try await client.signIn("berta", password: "a new beginning").mustReset)
            #expect(try await client.store.disable("berta"))
            #expect(try await client.log() == ["operator disable staff \(id)"])
            #expect(try await client.logIn("berta", password: "a new beginning").isProblem(.signInFailed))
            #expect(try await !client.store.disable("nobody"))
            #expect(
                try await !client.store.resetPassword(
                    of: "nobody", to: Secret("a new beginning"), removesSecondFactor: false))
            let list = try await client.store.list()
            #expect(
                list.map(\.userName) == ["berta", "root"] && list[0].isDisabled && list[0].mustReset
                    && list[1].isAdministrator)
        }
    }
}
