//! Reads types.

use super::*;

impl Parser {
    pub(super) fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        let result = if self.depth > MAX_DEPTH { Err(self.fail("nested too deeply")) } else { inner(self) };
        self.depth -= 1;
        result
    }

    pub(super) fn space(&mut self) -> Result<AddrSpace> {
        if !self.eat_word("addrspace") {
            return Ok(AddrSpace::FLAT);
        }
        self.expect('(')?;
        let space = AddrSpace(self.number()?);
        self.expect(')')?;
        Ok(space)
    }

    pub(super) fn ty(&mut self) -> Result<Type> {
        if self.eat('<') {
            if self.eat('{') {
                let ty = self.nested(|p| p.fields(true))?;
                self.expect('>')?;
                return Ok(ty);
            }
            let lanes = self.number()?;
            if !self.eat_word("x") {
                return self.expected("'x'");
            }
            let Type::Scalar(scalar) = self.ty_scalar()? else { return self.expected("a scalar type") };
            self.expect('>')?;
            return Ok(Type::Vector(scalar, lanes));
        }
        if self.eat('{') {
            return self.nested(|p| p.fields(false));
        }
        if self.eat('[') {
            let len = self.number()?;
            if !self.eat_word("x") {
                return self.expected("'x'");
            }
            let element = self.nested(Self::ty)?;
            self.expect(']')?;
            return Ok(self.module.types.array_of(element, len));
        }
        self.ty_scalar()
    }

    pub(super) fn fields(&mut self, packed: bool) -> Result<Type> {
        let mut fields = Vec::new();
        self.list('}', |p| {
            let field = p.ty()?;
            fields.push(field);
            Ok(())
        })?;
        Ok(self.module.types.struct_of(&fields, packed))
    }

    pub(super) fn ty_scalar(&mut self) -> Result<Type> {
        let float = |float| Some(Type::Scalar(Scalar::Float(float)));
        let ty = self.required("a type", |word| match word {
            "void" => Some(Type::Void),
            "half" => float(Float::Half),
            "bfloat" => float(Float::BFloat),
            "float" => float(Float::Single),
            "double" => float(Float::Double),
            "ptr" => Some(Type::ptr(AddrSpace::FLAT)),
            _ => numbered(word, "i").filter(|bits| (1..=1 << 23).contains(bits)).map(Type::int),
        })?;
        if ty == Type::ptr(AddrSpace::FLAT) { Ok(Type::ptr(self.space()?)) } else { Ok(ty) }
    }
}
