import Testing

@testable import OperatorCommands

/// The addresses of the services' roles, derived from the superuser's address.
@Suite struct DatabaseAddressTests {
    @Test(arguments: [
        ("postgresql://root:x@db:5432/martlet", "postgresql://martlet_auth:p%2Fw@db:5432/martlet"),
        ("postgres://root:a%40b@[::1]/m?sslmode=require", "postgres://martlet_auth:p%2Fw@[::1]/m?sslmode=require"),
        ("postgresql://db", "postgresql://martlet_auth:p%2Fw@db"),
        (
            "postgresql://root:x@10.0.0.1:5432,10.0.0.2:5433,db/m?target_session_attrs=read-write",
            "postgresql://martlet_auth:p%2Fw@10.0.0.1:5432,10.0.0.2:5433,db/m?target_session_attrs=read-write"
        ),
    ])
    func `the address keeps its hosts, database and parameters`(_ superuser: String, _ service: String) throws {
        #expect(try LocalServer.url(superuser, user: "martlet_auth", password: "p/w") == service)
    }

    @Test(arguments: [
        "host=db user=root", "mysql://root@db/m", "postgresql://", "postgresql:///m", "postgresql://root@/m",
        "postgresql://db/m?user=root", "postgresql://db/m?sslmode=require&pass%77ord=x", "postgresql://db?service=x",
        "postgresql://db/m?%zz=1", "postgresql://a,b/m?passfile=x",
    ])
    func `an address that would stay the superuser's is refused`(_ address: String) {
        #expect(throws: UpError.self) { try LocalServer.url(address, user: "martlet_auth", password: "x") }
    }
}
