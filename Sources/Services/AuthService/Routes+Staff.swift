import Hummingbird
import MartletHTTP

/// What the endpoints of staff work with.
struct StaffParts: Sendable {
    let staff: StaffStore
    let sessions: StaffSessionStore
    let secondFactors: SecondFactorStore
    let signIns: StaffSignIns
}

extension AuthService {
    func addStaffRoutes(to router: Router<ServiceContext>) {
        let (staff, sessions, secondFactors) = (staffParts.staff, staffParts.sessions, staffParts.secondFactors)
        let check = StaffPasswordCheck(staff: staff, attempts: attempts, hasher: hasher)

        // Signing in
        let completion = StaffSignInCompletion(
            sessions: sessions, attempts: attempts,
            secondFactor: SecondFactorCheck(attempts: attempts, secondFactors: secondFactors),
            signIns: staffParts.signIns, audit: audit)
        router.on(.post, "admin/auth/login", StaffLogIn(staff: staff, hasher: hasher, completion: completion))
        router.on(.get, "admin/auth/providers", ListStaffSignInProviders(providers: federation.providers))
        let finish = FinishStaffOAuth(federation: federation, staff: staff, hasher: hasher, completion: completion)
        router.on(.post, "admin/auth/oidc/finish", finish)
        router.on(
            .post, "admin/auth/oidc/:name/start", StartOAuth(federation: federation, attempts: attempts, guests: .staff)
        )
        router.on(
            .get, "admin/auth/oidc/callback", OAuthCallback(federation: federation, guests: .staff, logger: logger))
        router.on(
            .post, "admin/auth/oidc/callback", OAuthCallback(federation: federation, guests: .staff, logger: logger))
        router.on(
            .post, "admin/auth/refresh",
            RefreshStaffSession(staff: staff, sessions: sessions, signIns: staffParts.signIns, logger: logger))
        router.on(.post, "admin/auth/logout", LogStaffOut(sessions: sessions))

        // One's own account
        router.on(.get, "admin/me", ReadStaffMe(staff: staff))
        router.on(
            .put, "admin/me/password",
            ChangeStaffPassword(check: check, sessions: sessions, signIns: staffParts.signIns))
        router.on(.post, "admin/me/totp", AddStaffSecondFactor(check: check, secondFactors: secondFactors))
        router.on(.delete, "admin/me/totp", RemoveStaffSecondFactor(check: check, secondFactors: secondFactors))
        router.on(
            .post, "admin/me/totp/confirm",
            ConfirmStaffSecondFactor(attempts: attempts, secondFactors: secondFactors, audit: audit))
        router.on(
            .post, "admin/me/totp/recovery-codes", RenewStaffRecoveryCodes(check: check, secondFactors: secondFactors))
        router.on(.get, "admin/sessions", ListStaffSessions(sessions: sessions))
        router.on(.delete, "admin/sessions", EndStaffSessions(sessions: sessions))
        router.on(.delete, "admin/sessions/:id", EndStaffSession(sessions: sessions))

        // Other staff
        router.on(.get, "admin/staff", ListStaff(staff: staff))
        router.on(.post, "admin/staff", CreateStaff(staff: staff, hasher: hasher))
        router.on(.get, "admin/staff/:id", ReadStaff(staff: staff))
        router.on(.patch, "admin/staff/:id", ChangeStaff(staff: staff, hasher: hasher))
        router.on(.delete, "admin/staff/:id", DeleteStaff(staff: staff))
        router.on(.delete, "admin/staff/:id/totp", ResetStaffSecondFactor(staff: staff))
        router.on(.delete, "admin/staff/:id/sessions", EndSessionsOfStaff(staff: staff))
        router.on(
            .put, "admin/staff/:id/identities/:provider",
            LinkStaffIdentity(check: check, providers: federation.providers))
        router.on(.delete, "admin/staff/:id/identities/:provider", UnlinkStaffIdentity(staff: staff))
        router.on(.get, "admin/identity-providers", ListStaffProviders(federation: federation))
        router.on(.put, "admin/identity-providers/:name", SaveStaffProvider(federation: federation))
        router.on(.delete, "admin/identity-providers/:name", DeleteStaffProvider(federation: federation))

        // Between our own processes
        router.on(.post, "internal/staff/names", NameStaff(staff: staff))

        // What they did
        router.on(.get, "admin/sign-ins", ListSignIns(sessions: sessions))
        router.on(.get, "admin/audit", ReadAuditLog(audit: audit))
        router.on(.get, "admin/audit/export", ExportAuditLog(audit: audit))
    }
}
