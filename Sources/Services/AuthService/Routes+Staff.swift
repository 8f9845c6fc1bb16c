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
        let logIn = StaffLogIn(
            staff: staff, sessions: sessions, attempts: attempts, hasher: hasher,
            secondFactor: SecondFactorCheck(attempts: attempts, secondFactors: secondFactors), signIns: staffParts.signIns)
        router.on(.post, "admin/auth/login", logIn)
        router.on(.post, "admin/auth/refresh", RefreshStaffSession(sessions: sessions, signIns: staffParts.signIns, logger: logger))
        router.on(.post, "admin/auth/logout", LogStaffOut(sessions: sessions, audit: audit))

        // One's own account
        router.on(.get, "admin/me", ReadStaffMe(staff: staff))
        router.on(.put, "admin/me/password", ChangeStaffPassword(check: check, sessions: sessions, signIns: staffParts.signIns))
        router.on(.post, "admin/me/totp", AddStaffSecondFactor(check: check, secondFactors: secondFactors))
        router.on(.delete, "admin/me/totp", RemoveStaffSecondFactor(check: check, secondFactors: secondFactors))
        router.on(.post, "admin/me/totp/confirm", ConfirmStaffSecondFactor(attempts: attempts, secondFactors: secondFactors, audit: audit))
        router.on(.post, "admin/me/totp/recovery-codes", RenewStaffRecoveryCodes(check: check, secondFactors: secondFactors))
        router.on(.get, "admin/sessions", ListStaffSessions(sessions: sessions))
        router.on(.delete, "admin/sessions", EndStaffSessions(sessions: sessions, audit: audit))
        router.on(.delete, "admin/sessions/:id", EndStaffSession(sessions: sessions, audit: audit))

        // Other staff
        router.on(.get, "admin/staff", ListStaff(staff: staff))
        router.on(.post, "admin/staff", CreateStaff(staff: staff, hasher: hasher))
        router.on(.get, "admin/staff/:id", ReadStaff(staff: staff))
        router.on(.patch, "admin/staff/:id", ChangeStaff(staff: staff, hasher: hasher))
        router.on(.delete, "admin/staff/:id", DeleteStaff(staff: staff))
        router.on(.delete, "admin/staff/:id/totp", ResetStaffSecondFactor(staff: staff))
        router.on(.delete, "admin/staff/:id/sessions", EndSessionsOfStaff(staff: staff))

        // What they did
        router.on(.get, "admin/sign-ins", ListSignIns(sessions: sessions))
        router.on(.get, "admin/audit", ReadAuditLog(audit: audit))
        router.on(.get, "admin/audit/export", ExportAuditLog(audit: audit))
    }
}
